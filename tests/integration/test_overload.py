"""Clients that ask for more than there is, or do not do their part: what they take is bounded, and comes back."""

import collections
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import grpc
import numpy as np
import pytest
import torch
from ferry_server import wait_until
from gates import of_gated
from metrics_text import failures, open_work, pending, scrape
from models import ADDONE, Gated, fp32
from wire import TIMEOUT, assert_serves, counts, infer, infer_all, of_rows, refused

MEGABYTE = 1_000_000
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
MODEL_INFER = "/inference.GRPCInferenceService/ModelInfer"


def wait_until_nothing_is_open(server):
    wait_until(lambda: not open_work(server), what="the end of all work")


def in_flight(server):
    return scrape(server).value("ferry_calls_in_flight")


def refused_calls(server, reason):
    return scrape(server).value("ferry_calls_refused_total", reason=reason)


# More than there is room for

FLOOD = 1000
WIDTH = 150_000  # 600 KB
BOUND = 64 * MEGABYTE


@pytest.mark.parametrize("small_before", [0, 2000], ids=["cold", "after_small_requests"])
def test_flood_of_large_requests_takes_bounded_memory(start, repository, gates, small_before):
    repository.add(ADDONE, gates.model().batching("gated"))
    server = start(repository, flags=[f"--max-inflight-bytes={BOUND}"])
    # What a message is expected to take while only its headers are here is learnt from those before.
    infer_all(server.stub, [of_rows("addone", [[1, 2, 3, 4]])] * small_before)
    held = gates.hold(server.stub, "gated")
    base = server.resident_bytes()
    server.forget_peak()

    message = of_gated("gated", [1], width=WIDTH).SerializeToString()
    send = server.channel.unary_unary(MODEL_INFER)
    futures = [send.future(message, timeout=120) for _ in range(FLOOD)]
    wait_until(lambda: in_flight(server) + refused_calls(server, "bytes") == FLOOD + 1, timeout=60,
               what="each call let in or refused")
    held.finish()
    codes = collections.Counter(each.code() for each in futures)
    growth = server.peak_bytes() - base
    print(f"\n{codes[grpc.StatusCode.OK]} of {FLOOD} answered, {growth / MEGABYTE:.0f} MB more at the peak")

    assert set(codes) == {grpc.StatusCode.OK, UNAVAILABLE}
    assert all(f"{BOUND} bytes in flight" in each.details() for each in futures if each.code() == UNAVAILABLE)
    assert refused_calls(server, "bytes") == codes[UNAVAILABLE]
    assert counts(server.stub, "gated").success == codes[grpc.StatusCode.OK] + 1
    assert growth <= BOUND + 150 * MEGABYTE
    wait_until_nothing_is_open(server)
    assert infer(server.stub, of_gated("gated", [7], width=WIDTH))[0, 0] == 7


# Clients that are stopped or killed

CLIENT = """
import sys, grpc
address, calls, streamed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
message = sys.stdin.buffer.read()
channel = grpc.insecure_channel(address, [("grpc.max_receive_message_length", -1)])
service = "/inference.GRPCInferenceService/"
answers = channel.stream_stream(service + "ModelStreamInfer")(iter([message] * streamed))
send = channel.unary_unary(service + "ModelInfer").future
futures = [send(message) for _ in range(calls)]
print(sum(each.code() == grpc.StatusCode.OK for each in futures), len(list(answers)))
"""


@pytest.fixture
def client():
    """Starts processes that send a message by calls and on a stream, and say how many answers to each they got."""
    with contextlib.ExitStack() as processes:
        def run(server, message, calls, streamed=0):
            process = processes.enter_context(subprocess.Popen(
                [sys.executable, "-c", CLIENT, server.address, str(calls), str(streamed)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            processes.callback(process.kill)
            process.stdin.write(message.SerializeToString())
            process.stdin.close()
            return process
        yield run


class GatedEcho(torch.nn.Module):
    """Gated with answers as large as its requests."""

    def __init__(self, path: str):
        super().__init__()
        self.gated = Gated(path)

    def forward(self, X: torch.Tensor, G: torch.Tensor):
        return X + 0 * self.gated(X, G)[:, :1]


def echo(gates):
    _, path = gates.model().module
    return gates.model("echo", max_batch_size=4).but(module=(GatedEcho, path), outputs=[fp32("OUTPUT__0", -1)])


def latencies(server):
    """Seconds of small requests, to the model that the others use too and to another."""
    taken = []
    for i in range(200):
        begin = time.perf_counter()
        if i % 2:
            assert infer(server.stub, of_rows("addone", [[i] * 4])).tolist() == [[i + 1] * 4]
        else:
            assert infer(server.stub, of_gated("echo", [i])).tolist() == [[i, 0]]
        taken.append(time.perf_counter() - begin)
    return taken


HELD = 8 * MEGABYTE  # of outputs
ANSWER = 2 * MEGABYTE


@pytest.mark.parametrize("end", [signal.SIGCONT, signal.SIGKILL], ids=["continued", "killed"])
def test_client_that_does_not_read_holds_up_nobody(start, repository, gates, client, end):
    server = start(repository.add(ADDONE, echo(gates)), flags=[f"--max-held-output-bytes={HELD}"])
    before = latencies(server)
    held = gates.hold(server.stub, "echo")
    stopped = client(server, of_gated("echo", [1], width=ANSWER // 4), calls=16, streamed=8)
    wait_until(lambda: pending(server, "echo") == 24, timeout=TIMEOUT, what="its requests in the queue")
    stopped.send_signal(signal.SIGSTOP)
    os.waitpid(stopped.pid, os.WUNTRACED)
    held.release()
    wait_until(lambda: pending(server, "echo") == 0, timeout=TIMEOUT, what="an empty queue")

    during = latencies(server)
    # The rest has been copied, or is in the sockets.
    assert HELD / 2 < scrape(server).value("ferry_output_bytes_held") <= HELD + 4 * ANSWER
    assert in_flight(server) > 12
    for percent in (50, 90):
        assert np.percentile(during, percent) < 3 * np.percentile(before, percent) + 0.05

    # Within 10 s: after 20 s the server would close a connection that nobody reads from.
    stopped.send_signal(end)
    if end == signal.SIGCONT:
        assert stopped.stdout.read().split() == [b"16", b"8"]
    wait_until_nothing_is_open(server)
    assert_serves(server)


def test_killed_client_gives_back_what_waits(start, repository, gates, client):
    server = start(repository.add(ADDONE, gates.model("plain", max_batch_size=1)))
    held = gates.hold(server.stub, "plain")
    killed = client(server, of_gated("plain", [1]), calls=300, streamed=200)
    wait_until(lambda: pending(server, "plain") == 500, timeout=TIMEOUT, what="its requests in the queue")
    killed.kill()
    wait_until(lambda: in_flight(server) == 1, what="the end of its calls")
    assert failures(server, "plain") == {"cancelled": 500}
    assert held.finish()[0][0] == -1
    wait_until_nothing_is_open(server)
    assert_serves(server)


def test_client_killed_while_it_sends_gives_everything_back(start, repository, gates, client):
    server = start(repository.add(ADDONE, gates.model("plain", max_batch_size=1)))
    held = gates.hold(server.stub, "plain")
    killed = client(server, of_gated("plain", [1], width=WIDTH), calls=500, streamed=100)
    wait_until(lambda: in_flight(server) > 20, timeout=TIMEOUT, what="some of its calls")
    killed.kill()
    wait_until(lambda: in_flight(server) == 1, what="the end of its calls")
    # What had not arrived is not counted.
    assert 20 <= failures(server, "plain")["cancelled"] < 600
    assert held.finish()[0][0] == -1
    wait_until_nothing_is_open(server)
    assert_serves(server)


# Calls that have no body


@pytest.fixture
def silent():
    """Begins calls and sends no message."""
    ended = threading.Event()

    def begin(server, count, **options):
        call = server.channel.stream_unary(MODEL_INFER)
        return [call.future(iter(ended.wait, True), **options) for _ in range(count)]
    yield begin
    ended.set()


def test_calls_without_a_body_disturb_nobody_and_end_at_their_deadline(start, repository, silent):
    server = start(repository.add(ADDONE))
    calls = silent(server, 150, timeout=2)
    # The deadline is the server's alone, so that no end of the call by the client comes before it.
    calls += silent(server, 150, metadata=[("grpc-timeout", "2000m")])

    def ended_while_others_are_served():
        assert_serves(server)
        # Only calls whose message has arrived are counted; an answer may be here before its call has ended there.
        assert in_flight(server) <= 1
        return all(each.done() for each in calls)

    wait_until(ended_while_others_are_served, what="the end of the calls")
    assert {each.code() for each in calls} == {grpc.StatusCode.DEADLINE_EXCEEDED}
    wait_until_nothing_is_open(server)
    assert failures(server, "addone") == {} and refused_calls(server, "calls") == 0


def test_calls_without_a_body_take_their_places_until_they_are_cancelled(start, repository, silent):
    server = start(repository.add(ADDONE), flags=["--max-inflight-calls=300"])
    calls = silent(server, 300, timeout=120)
    message = of_rows("addone", [[1, 2, 3, 4]])
    wait_until(lambda: server.stub.ModelInfer.future(message, timeout=TIMEOUT).code() == UNAVAILABLE,
               what="a call too many")
    assert "maximum of 300 calls in flight" in refused(server.stub.ModelInfer, message, UNAVAILABLE)
    assert refused_calls(server, "calls") == 2
    calls.pop().cancel()
    wait_until(lambda: server.stub.ModelInfer.future(message, timeout=TIMEOUT).code() == grpc.StatusCode.OK,
               what="a free place")
    for each in calls:
        each.cancel()
    # Each of the 300 places is there again.
    wait_until(lambda: all(not isinstance(each, Exception) for each in infer_all(server.stub, [message] * 300)),
               what="300 free places")
    wait_until_nothing_is_open(server)
