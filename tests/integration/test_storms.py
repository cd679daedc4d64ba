"""Thousands of calls that end at random moments: each ends once, is counted once, and leaves nothing behind.

FERRY_STORM_CALLS is how many there are in each storm. Every server here must end with 0 after SIGTERM.
"""

import collections
import os
import queue
import random
import threading

import grpc
import pytest
from ferry_server import wait_until
from metrics_text import by_reason, failures, open_work, value
from models import ADDONE, PROBE
from tritonclient.grpc import service_pb2_grpc
from wire import arrays, assert_serves, counts, infer, of_probe, one_input, run_threads

CALLS = int(os.environ.get("FERRY_STORM_CALLS", "2000"))
WIDTH = 256  # calls on the way at a time
CLIENTS = 8
# As good as none, also for what a sanitizer makes slow.
PATIENT = 300

OK, UNAVAILABLE = grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE
CANCELLED, DEADLINE = grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED
INVALID = grpc.StatusCode.INVALID_ARGUMENT


@pytest.fixture
def server(start, repository):
    """Two instances whose queue is so short that it is full at times."""
    return start(repository.add(ADDONE, PROBE.batching("probe", 1000, instances=2)), flags=["--max-queue-size=30"])


@pytest.fixture
def rng():
    return random.Random(2024)


def work(rng, i):
    """A request whose answer is its number."""
    return of_probe("probe", [i], rng.choice([0, 0, 5, 20]), id=str(i))


class Ends:
    """How requests ended for their clients: each once, with a code, and with its own answer or none."""

    def __init__(self):
        self._room = threading.Semaphore(WIDTH)
        self._lock = threading.Lock()
        self._times = collections.Counter()
        self.codes = collections.Counter()
        self.wrong = []

    def note(self, i, code, answer=None):
        with self._lock:
            self._times[i] += 1
            self.codes[code] += 1
            if answer is not None and value_of(answer) != i:
                self.wrong.append(answer)

    def send(self, stub, i, message, timeout=PATIENT):
        """Begins a call, once fewer than WIDTH are on the way."""
        def end(future):
            code = future.code()
            self.note(i, code, future.result() if code == OK else None)
            self._room.release()

        self._room.acquire()
        future = stub.ModelInfer.future(message, timeout=timeout)
        future.add_done_callback(end)
        return future

    def _total(self):
        with self._lock:
            return self._times.total()

    def assert_complete(self, count, codes):
        wait_until(lambda: self._total() >= count, timeout=PATIENT, what="the end of each request")
        assert self._times == collections.Counter(range(count)) and self.wrong == []
        assert {OK, *codes} <= set(self.codes) <= {OK, UNAVAILABLE, *codes}


def value_of(answer):
    return arrays(answer)["OUTPUT__0"][0, 0]


def assert_accounts_agree(server, codes, reasons):
    """`codes` are how the requests ended for their clients, `reasons` those for which they may have failed."""
    wait_until(lambda: not open_work(server), timeout=60, what="the end of all work")
    sent = codes.total()
    given_up = codes[CANCELLED] + codes[DEADLINE]
    counted, failed = counts(server.stub, "probe"), failures(server, "probe")
    print(f"\n{ {code.name: count for code, count in codes.items()} }, failed: {dict(failed)}")
    # The server may have answered or failed what its client gave up, or not have seen it at all.
    assert codes[OK] <= counted.success <= codes[OK] + given_up
    assert sent - given_up <= counted.success + counted.fail <= sent
    # An answer was dropped only where its client had given up.
    assert value(server, "ferry_dropped_replies_total", "probe") <= counted.success - codes[OK]
    assert sum(failed.values()) == counted.fail and set(failed) <= {"queue_full", *reasons}
    for reason, code in (("queue_full", UNAVAILABLE), ("bad_request", INVALID)):
        assert codes[code] <= failed[reason] <= codes[code] + given_up
    assert value(server, "nv_inference_request_success", "probe") == counted.success
    in_tritons_words = by_reason(server, "nv_inference_request_failure", "probe")
    assert in_tritons_words["REJECTED"] == failed["queue_full"] + failed["bad_request"]
    assert in_tritons_words["CANCELED"] == failed["cancelled"] + failed["deadline"]
    assert sum(size * count for size, count in counted.batches.items()) == counted.rows == counted.success
    # And it serves on.
    assert infer(server.stub, of_probe("probe", [7]))[0, 0] == 7
    assert_serves(server)


def test_storm_of_deadlines(server, rng):
    ends = Ends()
    for i in range(CALLS):
        deadline = rng.choice([0, rng.uniform(0, 0.003), rng.uniform(0, 0.1), PATIENT])
        ends.send(server.stub, i, work(rng, i), timeout=deadline)
    ends.assert_complete(CALLS, {DEADLINE})
    # Where the client's own end of the call comes first by far, it counts as the client's.
    assert_accounts_agree(server, ends.codes, {"deadline", "cancelled"})


def test_storm_of_cancels(server, rng):
    ends = Ends()
    recent = collections.deque(maxlen=100)
    for i in range(CALLS):
        recent.append(ends.send(server.stub, i, work(rng, i)))
        if rng.random() < 0.7:
            rng.choice(recent).cancel()
    ends.assert_complete(CALLS, {CANCELLED})
    assert_accounts_agree(server, ends.codes, {"cancelled"})


def test_storm_of_connections_that_are_closed_with_calls_on_them(server):
    ends = Ends()

    def on_one_connection(rng, numbers):
        with grpc.insecure_channel(server.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            calls = [ends.send(stub, i, work(rng, i)) for i in numbers]
            if rng.random() < 0.8:
                rng.choice(calls[:5]).code()  # waits for its end

    by_clients(on_one_connection, each=20)
    ends.assert_complete(CALLS, {CANCELLED})
    assert_accounts_agree(server, ends.codes, {"cancelled"})


def test_storm_of_streams_that_are_closed_or_cancelled(server):
    ends = Ends()
    by_clients(lambda rng, numbers: stream(server.stub, rng, numbers, ends), each=25)
    ends.assert_complete(CALLS, {CANCELLED, INVALID})
    assert_accounts_agree(server, ends.codes, {"cancelled", "bad_request"})


def by_clients(send, each):
    """Several clients at once send the requests' numbers, `each` at a time."""
    chunks = [range(first, min(first + each, CALLS)) for first in range(0, CALLS, each)]

    def client(seed):
        rng = random.Random(seed)
        for numbers in chunks[seed::CLIENTS]:
            send(rng, numbers)

    run_threads(CLIENTS, client)


def stream(stub, rng, numbers, ends):
    """Sends one request for each number, a few of them bad, and reads all answers or cancels before the last."""
    requests = queue.SimpleQueue()
    for i in numbers:
        bad = rng.random() < 0.05
        requests.put(one_input("probe", [1, 3], bytes(12), "X", id=str(i)) if bad else work(rng, i))
    cancels, closes = rng.choice([(False, True), (True, True), (True, False)])
    if closes:
        requests.put(None)
    answers = stub.ModelStreamInfer(iter(requests.get, None), timeout=PATIENT)
    read = rng.randrange(len(numbers)) if cancels else len(numbers)
    for i in numbers[:read]:
        note_answer(next(answers), i, ends)
    if cancels:
        answers.cancel()
        requests.put(None)
    else:
        assert next(answers, None) is None
    assert answers.code() == (CANCELLED if cancels else OK)
    for i in numbers[read:]:
        ends.note(i, CANCELLED)


def note_answer(answer, i, ends):
    """The answers of a stream come in the order of its requests."""
    assert answer.infer_response.id == str(i)
    if not answer.error_message:
        ends.note(i, OK, answer.infer_response)
    else:
        ends.note(i, UNAVAILABLE if "maximum queue size" in answer.error_message else INVALID)
