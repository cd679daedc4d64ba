"""Clients that give up: what waits never runs, what runs is answered to nobody, and all of it is counted."""

import time

import grpc
import numpy as np
import pytest
from ferry_server import FerryServer, wait_until
from gates import answer, enqueue, of_gated, values
from metrics_text import failures, pending, value
from models import PROBE, Repository
from tritonclient.grpc import service_pb2 as pb, service_pb2_grpc
from wire import arrays, counts, infer, of_probe, paced, probe_steps, statistics

MODELS = ["batching", "plain"]


@pytest.fixture(scope="module")
def server(tmp_path_factory, all_gates):
    own_timeout = "default_queue_policy { allow_timeout_override: true }"
    repository = Repository(tmp_path_factory.mktemp("cancellation")).add(
        all_gates.model("plain", max_batch_size=1),
        all_gates.model().batching("batching", max_batch_size=1),
        all_gates.model().batching("own_timeout", fields=own_timeout),
        PROBE.batching("probe_20ms", 20_000),
    )
    with FerryServer(repository) as server:
        yield server


# What a test leaves waiting in an execution goes on at its end.
pytestmark = pytest.mark.usefixtures("gates")


def cancel_all(stub, futures):
    """Returns when the server's connection has heard of it."""
    for future in futures:
        future.cancel()
    # What a connection carries it carries in order.
    stub.ServerLive(pb.ServerLiveRequest(), timeout=10)


def dropped_replies(server, model):
    return value(server, "ferry_dropped_replies_total", model)


# What waits


@pytest.mark.parametrize("model", MODELS)
def test_b022_request_whose_deadline_passes_never_runs(server, stub, gates, model):
    before, failed_before = counts(stub, model), failures(server, model)
    running = gates.hold(stub, model)
    late = [stub.ModelInfer.future(of_gated(model, [i]), timeout=1) for i in range(10)]
    wait_until(lambda: pending(server, model) == 10, what="ten in the queue")
    assert {each.exception().code() for each in late} == {grpc.StatusCode.DEADLINE_EXCEEDED}
    wait_until(lambda: pending(server, model) == 0, what="an empty queue")
    assert not running.future.done()
    following = stub.ModelInfer.future(of_gated(model, [7]), timeout=30)
    running.finish()
    assert values([following]) == [7]
    assert (counts(stub, model) - before).executions == 2
    # Where the client's own end of the call comes first by far, it counts as the client's.
    failed = failures(server, model) - failed_before
    assert sum(failed.values()) == 10 and set(failed) <= {"deadline", "cancelled"}


@pytest.mark.parametrize("model", MODELS)
def test_cancelled_request_that_waits_never_runs(server, stub, gates, model):
    before, failed_before = counts(stub, model), failures(server, model)
    running = gates.hold(stub, model)
    futures = enqueue(server, model, [of_gated(model, [i]) for i in range(10)])
    cancel_all(stub, futures[::2])
    wait_until(lambda: pending(server, model) == 5, what="half of the queue")
    assert not running.future.done()
    running.finish()
    assert values(futures[1::2]) == [1, 3, 5, 7, 9]
    counted = counts(stub, model) - before
    assert (counted.executions, counted.success, counted.fail) == (6, 6, 5)
    assert failures(server, model) - failed_before == {"cancelled": 5}


def test_client_that_closes_its_connection_cancels_what_waits(server, stub, gates):
    failed_before = failures(server, "plain")
    running = gates.hold(stub, "plain")
    with grpc.insecure_channel(server.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        own = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        futures = [own.ModelInfer.future(of_gated("plain", [i]), timeout=30) for i in range(10)]
        wait_until(lambda: pending(server, "plain") == 10, what="ten in the queue")
    wait_until(lambda: pending(server, "plain") == 0, what="an empty queue")
    assert all(each.done() for each in futures) and not running.future.done()
    running.finish()
    assert failures(server, "plain") - failed_before == {"cancelled": 10}


# What runs


@pytest.mark.parametrize("model", MODELS)
def test_answer_of_a_cancelled_request_that_runs_is_dropped_and_counted(server, stub, gates, model):
    before, dropped_before = counts(stub, model), dropped_replies(server, model)
    running = gates.hold(stub, model)
    cancel_all(stub, [running.future])
    time.sleep(0.1)
    assert dropped_replies(server, model) == dropped_before
    running.release()
    wait_until(lambda: dropped_replies(server, model) == dropped_before + 1, what="the dropped reply")
    assert answer(stub.ModelInfer.future(of_gated(model, [5]), timeout=30))[0][0] == 5
    assert (counts(stub, model) - before).executions == 2
    assert dropped_replies(server, model) == dropped_before + 1


def test_deadline_does_not_interrupt_what_runs(server, stub, gates):
    dropped_before, failed_before = dropped_replies(server, "plain"), failures(server, "plain")
    running = gates.send(stub, "plain", timeout=2)
    wait_until(running.executing, what="the execution's begin")
    waiting = stub.ModelInfer.future(of_gated("plain", [1]), timeout=30)
    assert running.future.exception().code() == grpc.StatusCode.DEADLINE_EXCEEDED
    time.sleep(0.1)
    assert not waiting.done()
    running.release()
    assert values([waiting]) == [1]
    wait_until(lambda: dropped_replies(server, "plain") == dropped_before + 1, what="the dropped reply")
    assert failures(server, "plain") == failed_before


def test_mates_of_a_cancelled_request_in_one_batch_are_answered(server, stub, gates):
    dropped_before = dropped_replies(server, "own_timeout")
    first = gates.hold(stub, "own_timeout")
    futures = enqueue(server, "own_timeout", [of_gated("own_timeout", [i]) for i in range(3)])
    second = gates.send(stub, "own_timeout", 3)
    wait_until(lambda: pending(server, "own_timeout") == 4, what="four in the queue")
    first.finish()
    wait_until(second.executing, what="the batch")
    cancel_all(stub, futures[:1])
    time.sleep(0.1)
    second.release()
    assert [answer(each)[0][:2] for each in [*futures[1:], second.future]] == [(1, 4), (2, 4), (3, 4)]
    wait_until(lambda: dropped_replies(server, "own_timeout") == dropped_before + 1, what="the dropped reply")


# Many


def tell(what, seconds):
    p50, p99 = np.percentile(seconds, [50, 99]) * 1000
    print(f"\n{what}: p50 {p50:.2f} ms, p99 {p99:.2f} ms, most {max(seconds) * 1000:.2f} ms")


def usual_p99(seconds):
    """The median of the 99th percentiles of ten parts: one pause of the machine does not decide it."""
    return np.median([np.percentile(part, 99) for part in np.array_split(seconds, 10)])


def test_1000_queue_timeouts_are_answered_when_they_are_due_and_none_runs(server, stub, gates):
    before, failed_before = counts(stub, "own_timeout"), failures(server, "own_timeout")
    waited_before = statistics(stub, "own_timeout").inference_stats.fail.ns
    running = gates.hold(stub, "own_timeout")
    late, errors, futures = [], [], []

    def send(i):
        message = of_gated("own_timeout", [i], parameters={"timeout": 50_000})
        due = time.perf_counter() + 0.05
        futures.append(stub.ModelInfer.future(message, timeout=30))
        futures[-1].add_done_callback(
            lambda each: (late.append(time.perf_counter() - due), errors.append(each)))

    paced(1000, 0.0015, send)
    wait_until(lambda: len(errors) == 1000, what="all refusals")
    assert not running.future.done()
    assert {each.code() for each in errors} == {grpc.StatusCode.UNAVAILABLE}
    assert all("Request timeout expired" in each.details() for each in errors)
    waited_ms = (statistics(stub, "own_timeout").inference_stats.fail.ns - waited_before) / 1000 / 1e6
    running.finish()
    assert (counts(stub, "own_timeout") - before).executions == 1
    assert failures(server, "own_timeout") - failed_before == {"timeout": 1000}

    tell("client: refusals after they were due", late)
    print(f"client: usual p99 {usual_p99(late) * 1000:.2f} ms; server: mean {waited_ms - 50:.3f} ms")
    assert min(late) > 0 and 50 <= waited_ms < 55
    # Room for a client that takes a core for itself, beside an execution that has the other one.
    assert usual_p99(late) < 0.05


def test_1000_cancels_empty_the_queue_at_once_and_none_runs(server, stub, gates):
    before, failed_before = counts(stub, "own_timeout"), failures(server, "own_timeout")
    running = gates.hold(stub, "own_timeout")
    futures = [stub.ModelInfer.future(of_gated("own_timeout", [i]), timeout=60) for i in range(1000)]
    wait_until(lambda: pending(server, "own_timeout") == 1000, what="a thousand in the queue")
    begin = time.perf_counter()
    for future in futures:
        future.cancel()
    cancelled = time.perf_counter()
    wait_until(lambda: pending(server, "own_timeout") == 0, timeout=2, what="an empty queue")
    print(f"\n1000 cancels: sent in {(cancelled - begin) * 1000:.0f} ms, "
          f"the queue was empty {(time.perf_counter() - cancelled) * 1000:.0f} ms later")
    wait_until(lambda: failures(server, "own_timeout") - failed_before == {"cancelled": 1000}, timeout=2,
               what="a thousand counted")
    assert not running.future.done()
    running.finish()
    assert (counts(stub, "own_timeout") - before).executions == 1


def latencies(stub, count):
    """Seconds of requests that eight at a time are on their way, each of which must succeed."""
    taken = []
    for first in range(0, count, 8):
        begin = time.perf_counter()
        futures = [stub.ModelInfer.future(of_probe("probe_20ms", [first + i]), timeout=10) for i in range(8)]
        for i, future in enumerate(futures):
            assert arrays(future.result())["OUTPUT__0"][0, 0] == first + i
            taken.append(time.perf_counter() - begin)
    return taken


def test_b023_wave_of_impatient_clients_does_not_harm_those_after_it(server, stub):
    first = latencies(stub, 200)
    steps = probe_steps(stub, "probe_20ms", 0.2)
    wave = []
    paced(500, 0.004, lambda i: wave.append(
        stub.ModelInfer.future(of_probe("probe_20ms", [i], steps), timeout=0.05)))
    codes = {each.code() for each in wave if each.exception()}
    assert codes == {grpc.StatusCode.DEADLINE_EXCEEDED}
    wait_until(lambda: pending(server, "probe_20ms") == 0, what="an empty queue")
    infer(stub, of_probe("probe_20ms", [0]))
    last = latencies(stub, 200)
    tell("before the wave", first)
    tell("after the wave", last)
    for percent in (50, 90):
        assert np.percentile(last, percent) < 2 * np.percentile(first, percent) + 0.1
