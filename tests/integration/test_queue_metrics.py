"""What the metrics tell of the queue: after known traffic each number is exact."""

import time

import grpc
import pytest
from ferry_server import FerryServer, wait_until
from gates import enqueue, of_gated, values
from metrics_text import by_reason, failures, pending, scrape, value
from models import RZ, Repository
from wire import of_rows, one_input, refused

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
REASONS = {"bad_request", "queue_full", "queue_bytes", "server_full", "timeout", "deadline", "cancelled",
           "stopping", "model"}


# Refusals


@pytest.fixture
def small_server(start, repository, gates):
    """Room for 3 requests or 50 kB of a model, and for 5 requests in all."""
    own_timeout = "default_queue_policy { allow_timeout_override: true }"
    repository.add(gates.model().batching("a", fields=own_timeout, max_batch_size=1),
                   gates.model("b", max_batch_size=1), RZ)
    flags = ["--max-queue-size=3", "--max-queue-bytes=50000", "--max-server-queue-size=5"]
    return start(repository, flags=flags)


def send_with_deadline(stub, message, milliseconds):
    # The deadline is the server's alone, so that no end of the call by the client comes before it.
    return stub.ModelInfer.future(message, metadata=[("grpc-timeout", f"{milliseconds}m")])


def test_each_refusal_is_counted_once_by_its_reason(small_server, gates):
    stub = small_server.stub
    running = [gates.hold(stub, model) for model in ("a", "b")]
    for _ in range(2):
        refused(stub.ModelInfer, of_gated("a", [1], parameters={"timeout": 20_000}), UNAVAILABLE)
    for _ in range(3):
        error = send_with_deadline(stub, of_gated("a", [1]), 50).exception(timeout=10)
        assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    for future in enqueue(small_server, "a", [of_gated("a", [1])] * 2):
        future.cancel()
    wait_until(lambda: pending(small_server, "a") == 0, what="the end of what was cancelled")
    refused(stub.ModelInfer, of_gated("a", [1], width=20_000), UNAVAILABLE)
    waiting = enqueue(small_server, "a", [of_gated("a", [1])] * 3)
    for _ in range(4):
        refused(stub.ModelInfer, of_gated("a", [1]), UNAVAILABLE)
    waiting += enqueue(small_server, "b", [of_gated("b", [1])] * 2)
    for _ in range(5):
        refused(stub.ModelInfer, of_gated("b", [1]), UNAVAILABLE)
    for _ in range(6):
        refused(stub.ModelInfer, one_input("a", [1], bytes(4), name="X"), grpc.StatusCode.INVALID_ARGUMENT)
    assert failures(small_server, "a") == {
        "timeout": 2, "deadline": 3, "cancelled": 2, "queue_bytes": 1, "queue_full": 4, "bad_request": 6}
    assert failures(small_server, "b") == {"server_full": 5}
    for each in running:
        each.finish()
    assert values(waiting) == [1] * 5
    assert by_reason(small_server, "nv_inference_request_failure", "a") == {"REJECTED": 13, "CANCELED": 5}
    assert by_reason(small_server, "nv_inference_request_failure", "b") == {"REJECTED": 5}
    assert [value(small_server, "nv_inference_request_success", model) for model in ("a", "b")] == [4, 3]


def test_failures_of_the_model_are_counted_as_the_models(small_server):
    for _ in range(3):
        refused(small_server.stub.ModelInfer, of_rows("rz", [[-1, 0, 0, 0]]), grpc.StatusCode.INTERNAL)
    assert failures(small_server, "rz") == {"model": 3}
    assert value(small_server, "ferry_dropped_replies_total", "rz") == 0


def test_every_reason_has_a_series_from_the_start(small_server):
    series = scrape(small_server).labels_of("ferry_request_failures_total")
    reasons = [each["reason"] for each in series if each["model"] == "a"]
    assert set(reasons) == REASONS and len(reasons) == len(REASONS)
    assert failures(small_server, "a") == {}


# Batches


@pytest.fixture(scope="module")
def server(tmp_path_factory, all_gates):
    def batching(name, *arguments, **changes):
        return all_gates.model().batching(name, *arguments, **changes)

    repository = Repository(tmp_path_factory.mktemp("queue_metrics")).add(
        batching("full"), batching("cannot_grow"), batching("idle"),
        batching("preferred", fields="preferred_batch_size: [ 4 ]"),
        batching("delay", 100_000),
        batching("two_waits"),
        all_gates.model("plain"),
    )
    with FerryServer(repository) as server:
        yield server


# What a test leaves waiting in an execution goes on at its end.
pytestmark = pytest.mark.usefixtures("gates")


def run_held(server, gates, model, sizes):
    """Lets requests of these many rows wait for an execution of one row."""
    running = gates.hold(server.stub, model)
    futures = enqueue(server, model, [of_gated(model, [size] * size) for size in sizes])
    running.finish()
    assert values(futures) == [size for size in sizes for _ in range(size)]


def batch_sizes(server, model):
    """Batches of at most 1, 2, 4, 8 and any number of rows; all batches; all rows."""
    metrics = scrape(server)
    name = "ferry_batch_size_rows"
    bounds = [metrics.value(f"{name}_bucket", model=model, version="1", le=le)
              for le in ("1", "2", "4", "8", "1024", "+Inf")]
    assert bounds[3] == bounds[4] == bounds[5]
    count, rows = (metrics.value(f"{name}_{each}", model=model, version="1") for each in ("count", "sum"))
    return bounds[:4], count, rows


@pytest.mark.parametrize("model, sizes, reasons, histogram", [
    ("full", [1] * 8 + [3, 5], {"idle": 1, "full": 2}, ([1, 1, 1, 3], 3, 17)),
    ("cannot_grow", [5, 5, 2], {"idle": 2, "cannot_grow": 1}, ([1, 1, 1, 3], 3, 13)),
    ("idle", [1, 2], {"idle": 2}, ([1, 1, 2, 2], 2, 4)),
    ("preferred", [1] * 9, {"idle": 2, "preferred": 2}, ([2, 2, 4, 4], 4, 10)),
    ("delay", [1, 1], {"delay": 2}, ([1, 2, 2, 2], 2, 3)),
    ("plain", [8, 2], {"idle": 3}, ([1, 2, 2, 3], 3, 11)),
])
def test_batches_are_counted_by_why_they_left_and_by_their_rows(
        server, stub, gates, model, sizes, reasons, histogram):
    run_held(server, gates, model, sizes)
    assert by_reason(server, "ferry_batches_total", model) == reasons
    assert batch_sizes(server, model) == histogram


# Time


def test_age_of_the_oldest_request_rises_while_it_waits(server, stub, gates):
    def age():
        return value(server, "ferry_oldest_request_age_seconds", "two_waits")

    assert age() == 0
    running = gates.hold(stub, "two_waits")
    assert age() == 0
    first_sent = time.monotonic()
    futures = enqueue(server, "two_waits", [of_gated("two_waits", [1])])
    first = age()
    second_sent = time.monotonic()
    futures += enqueue(server, "two_waits", [of_gated("two_waits", [2], width=3)])
    time.sleep(0.3)
    second = age()
    assert first + 0.3 <= second <= time.monotonic() - first_sent
    futures[0].cancel()
    wait_until(lambda: pending(server, "two_waits") == 1, what="the end of the first request")
    assert 0.3 <= age() <= time.monotonic() - second_sent
    running.finish()
    assert values(futures[1:]) == [2]
    assert age() == 0


def test_time_in_the_queue_is_a_histogram_of_answered_requests(start, repository, gates):
    server = start(repository.add(gates.model("gated", max_batch_size=1)))

    def value_of(part, **labels):
        return scrape(server).value(f"ferry_queue_seconds_{part}", model="gated", version="1", **labels)

    running = gates.hold(server.stub, "gated")
    futures = enqueue(server, "gated", [of_gated("gated", [i]) for i in range(3)])
    futures[0].cancel()
    time.sleep(0.3)
    running.finish()
    assert values(futures[1:]) == [1, 2]
    assert value_of("count") == value_of("bucket", le="+Inf") == 3
    assert value_of("bucket", le="0.25") == 1
    assert value_of("sum") > 0.6
