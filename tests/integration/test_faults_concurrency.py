"""Load that goes on: nothing decays, nothing hangs, and every request is answered and counted once."""

import contextlib
import itertools
import os
import random
import threading
import time

import grpc
import numpy as np
from ferry_server import wait_until
from gates import of_gated
from metrics_text import pending, value
from models import ADDONE, PROBE, RZ
from wire import (TIMEOUT, Pipeline, arrays, counts, infer, of_arrays, of_probe, of_rows, one_input, paced,
                  probe_steps, run_threads)


def soak_seconds(usual):
    return float(os.environ.get("FERRY_SOAK_SECONDS", usual))


def test_alternating_shapes_at_full_load_fill_nine_tenths_of_their_batches(start, repository):
    any_width = [("X", "FP32", [-1]), PROBE.inputs[1]]
    stub = start(repository.add(PROBE.batching("probe", inputs=any_width))).stub
    steps = np.full((1, 1), probe_steps(stub, "probe", 0.02), np.int64)
    messages = [of_arrays("probe", {"X": np.zeros((1, width), np.float32), "N": steps}) for width in (2, 3)]
    with Pipeline(stub, itertools.cycle(messages), width=64) as pipeline:
        pipeline.wait_for(100)
        before = counts(stub, "probe")
        pipeline.wait_for(700)
        counted = counts(stub, "probe") - before
    assert counted.rows / counted.executions >= 0.9 * 8


def test_b014_queue_timeout_and_delay_do_not_wear_the_instances_out(start, repository, gates):
    limit = "default_queue_policy { default_timeout_microseconds: 1000000 }"
    server = start(repository.add(gates.model().batching("four", 2000, limit, instances=4)))
    count = int(300 * soak_seconds(20))
    answered = [None] * count

    def send(i):
        def note(future):
            answered[i] = future.exception() is None
        server.stub.ModelInfer.future(of_gated("four", [i]), timeout=TIMEOUT).add_done_callback(note)

    paced(count, 1 / 300, send)
    wait_until(lambda: pending(server, "four") == 0, timeout=2, what="an empty queue")
    wait_until(lambda: None not in answered, what="all answers")
    tenth = count // 10
    assert sum(answered[-tenth:]) >= 0.95 * sum(answered[:tenth]) > 0
    # Each of these finds an instance while those before it have theirs.
    held = [gates.hold(server.stub, "four", i) for i in range(4)]
    assert [each.finish()[0][:2] for each in held] == [(0, 1), (1, 1), (2, 1), (3, 1)]


class Tally:
    """What the clients of a model have seen."""

    def __init__(self):
        self._lock = threading.Lock()
        self.sent = self.ok = self.failed = self.given_up = 0

    def note(self, future, allowed):
        """Waits for a call that may end well or with one of these codes; returns its answer, if any."""
        error = future.exception() if not future.cancelled() else None
        with self._lock:
            self.sent += 1
            if future.cancelled() or error and error.code() in GIVEN_UP:
                self.given_up += 1
            elif error:
                self.failed += 1
            else:
                self.ok += 1
        code = grpc.StatusCode.CANCELLED if future.cancelled() else error and error.code()
        assert code is None or code in allowed, error
        return None if code else future.result()

    def assert_agrees(self, counted):
        # The server may have answered or failed what its client gave up, or not have seen it at all.
        assert self.ok <= counted.success <= self.ok + self.given_up
        assert self.failed <= counted.fail <= self.failed + self.given_up
        assert counted.success + counted.fail <= self.sent


GIVEN_UP = {grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED}


def cancelled_soon(future, milliseconds):
    time.sleep(random.uniform(0, milliseconds) / 1000)
    future.cancel()
    return future


@contextlib.contextmanager
def canary(stub):
    """Infers ten times a second meanwhile; none may take longer than two seconds."""
    ended = threading.Event()
    taken, errors = [], []

    def watch():
        while not ended.wait(0.1):
            begin = time.monotonic()
            try:
                assert infer(stub, of_rows("addone", [[1, 2, 3, 4]]), timeout=10).tolist() == [[2, 3, 4, 5]]
            except Exception as error:
                errors.append(error)
            taken.append(time.monotonic() - begin)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert errors == [] and taken and max(taken) < 2


def test_b074_good_bad_and_cancelled_requests_leave_the_server_serving(start, repository):
    server = start(repository.add(ADDONE, RZ.batching("rz", 1000)))
    stub, tally = server.stub, Tally()
    end = time.monotonic() + soak_seconds(10)

    def good(i):
        # One that fails in the model fails alone, not with its batch.
        answer = tally.note(stub.ModelInfer.future(of_rows("rz", [[i] * 4]), timeout=TIMEOUT), ())
        assert arrays(answer)["OUTPUT__0"].tolist() == [[i + 1] * 4]

    def bad(i):
        message, code = ((of_rows("rz", [[-1] * 4]), grpc.StatusCode.INTERNAL) if i % 2 else
                         (one_input("rz", [4], bytes(16)), grpc.StatusCode.INVALID_ARGUMENT))
        assert tally.note(stub.ModelInfer.future(message, timeout=TIMEOUT), {code}) is None

    def cancelled(i):
        future = stub.ModelInfer.future(of_rows("rz", [[i] * 4]), timeout=TIMEOUT)
        tally.note(cancelled_soon(future, 3), GIVEN_UP)

    def client(i):
        while time.monotonic() < end:
            random.choices([good, bad, cancelled], [8, 1, 1])[0](random.randrange(1000))

    with canary(stub):
        run_threads(8, client)
    wait_until(lambda: pending(server, "rz") == 0, what="an empty queue")
    assert tally.ok > 0 and tally.failed > 0 and tally.given_up > 0
    tally.assert_agrees(counts(stub, "rz"))
    # Some of them did fail in a batch with others.
    assert value(server, "ferry_batch_retries_total", "rz") > 0


# Random traffic

MIXED = PROBE.batching(
    "mixed", 2000, max_batch_size=4, instances=2, fields="""
    priority_levels: 3 default_priority_level: 2
    default_queue_policy { allow_timeout_override: true }
    priority_queue_policy { key: 3 value { timeout_action: DELAY default_timeout_microseconds: 5000 } }""")


class RandomClients:
    """Clients that wait, hurry, cancel and err at random; how many are at work changes every second."""

    CROWDS = [2, 24, 6, 16]

    def __init__(self, stub, seconds):
        self._stub, self.tally = stub, Tally()
        self._begin = time.monotonic()
        self._seconds = seconds

    def run(self):
        run_threads(max(self.CROWDS), self._client)

    def _client(self, i):
        kinds = [self._patient, self._hurried, self._with_deadline, self._cancelled, self._wrong]
        while (elapsed := time.monotonic() - self._begin) < self._seconds:
            if i < self.CROWDS[int(elapsed) % len(self.CROWDS)]:
                random.choices(kinds, [4, 2, 2, 2, 1])[0]()
            else:
                time.sleep(0.05)

    def _send(self, values, wait=TIMEOUT, **parameters):
        message = of_probe("mixed", values, random.choice([0, 0, 5, 20]),
                           parameters={"priority": random.randrange(5), **parameters})
        return self._stub.ModelInfer.future(message, timeout=wait)

    def _check(self, future, values, *allowed):
        answer = self.tally.note(future, allowed)
        assert answer is None or arrays(answer)["OUTPUT__0"][:, 0].tolist() == values

    def _patient(self):
        values = self._values()
        self._check(self._send(values), values)

    def _hurried(self):
        values = self._values()
        future = self._send(values, timeout=random.randint(1, 30_000))
        self._check(future, values, grpc.StatusCode.UNAVAILABLE)

    def _with_deadline(self):
        values = self._values()
        self._check(self._send(values, wait=random.uniform(0.001, 0.03)), values, *GIVEN_UP)

    def _cancelled(self):
        values = self._values()
        self._check(cancelled_soon(self._send(values), 10), values, *GIVEN_UP)

    def _wrong(self):
        message = one_input("mixed", [1, 3], bytes(12), name="X")
        future = self._stub.ModelInfer.future(message, timeout=TIMEOUT)
        self._check(future, [], grpc.StatusCode.INVALID_ARGUMENT)

    @staticmethod
    def _values():
        return [random.randrange(1000) for _ in range(random.randint(1, 4))]


def rate(stub, steps):
    """Answers a second while 16 requests are always on their way."""
    with Pipeline(stub, itertools.repeat(of_probe("mixed", [0], steps)), width=16) as pipeline:
        pipeline.wait_for(16)
        begin = time.monotonic()
        pipeline.wait_for(176)
        return 160 / (time.monotonic() - begin)


def test_random_traffic_leaves_the_server_as_fast_as_a_new_one(start, repository):
    repository.add(ADDONE, MIXED)
    used, new = start(repository), start(repository)
    clients = RandomClients(used.stub, soak_seconds(20))
    with canary(used.stub):
        clients.run()
    wait_until(lambda: pending(used, "mixed") == 0, what="an empty queue")
    assert value(used, "ferry_oldest_request_age_seconds", "mixed") == 0
    assert min(clients.tally.ok, clients.tally.failed, clients.tally.given_up) > 0
    clients.tally.assert_agrees(counts(used.stub, "mixed"))
    # By turns, and the best of each: what else the machine does must not decide it.
    steps = probe_steps(new.stub, "mixed", 0.01)
    rates = [(rate(used.stub, steps), rate(new.stub, steps)) for _ in range(10)]
    of_used, of_new = np.max(rates, axis=0)
    print(f"\nsent {clients.tally.sent}; then {of_used:.0f} answers/s, of a new server {of_new:.0f}/s")
    assert of_used >= 0.8 * of_new
