"""ferry-bench against servers that do what makes load generators lie. Numbers are those of faults.md."""

import asyncio
import json
import signal
import threading
import time

import grpc
import numpy as np
import pytest
from bench_tool import measure, quantile_ms, run, start
from models import ADDONE, EMBEDDING, PROBE, VAR
from stub_server import StubServer
from wire import probe_steps

# Seconds that the server stands still, in so many.
FROZEN, EVERY = 1.0, 5.0


class Freezer:
    """Stops a server's process again and again."""

    def __init__(self, server):
        self._server, self._end = server, threading.Event()
        self._thread = threading.Thread(target=self._freeze)

    def _freeze(self):
        while not self._end.wait(EVERY - FROZEN):
            self._server.signal(signal.SIGSTOP)
            self._end.wait(FROZEN)
            self._server.signal(signal.SIGCONT)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()


def point_of(result):
    assert len(result["points"]) == 1
    return result["points"][0]


def test_b127_a_frozen_server_shows_in_the_latency_by_the_schedule(tmp_path, start_server):
    server = start_server(ADDONE)
    with Freezer(server):
        result = measure(tmp_path, server.address, "addone", "--request-rate-range", 100, "--request-distribution",
                         "constant", "--duration", "20s", "--warmup", 0)
    point = point_of(result)
    # A fifth of the requests waits for the rest of a second: the 99th percentile of all is the 95th of those.
    assert 0.9 * 950 <= quantile_ms(point["response"], 0.99) <= 1.1 * 970
    assert quantile_ms(point["response"], 0.5) < 50
    assert point["offered"] == 2000 and point["ok"] == 2000
    assert quantile_ms(point["lateness"], 0.99) < 5


def test_b127_what_waits_for_a_place_is_late_and_the_run_says_so(tmp_path, start_server):
    server = start_server(PROBE.but(max_batch_size=1))
    data = tmp_path / "data.json"
    slow = {"X": [1, 1], "N": [probe_steps(server.stub, "probe", 1)]}
    quick = {"X": [1, 1], "N": [0]}
    data.write_text(json.dumps({"data": [slow] + [quick] * 29}))
    result = measure(tmp_path, server.address, "probe", "--request-rate-range", 20, "--request-distribution", "constant",
                     "--duration", "20s", "--warmup", 0, "--input-data", data, "--max-outstanding", 2,
                     "--wait-when-full", code=1)
    point = point_of(result)
    assert any("fell behind" in reason for reason in point["invalid"])
    assert quantile_ms(point["lateness"], 0.99) > 100
    assert quantile_ms(point["response"], 0.9) > 4 * quantile_ms(point["service"], 0.5)
    assert point["offered"] == point["ok"] == 400


def test_b128_the_schedule_begins_with_the_load(tmp_path):
    with StubServer() as server:
        begin = time.monotonic()
        measure(tmp_path, server.address, "stub", "--request-rate-range", 50, "--request-distribution", "constant",
                "--duration", "5s", "--warmup", 0)
        # The first request is the trial, sent alone.
        arrivals = np.array(server.arrivals[1:]) - server.arrivals[1]
    assert server.arrivals[0] - begin < 5
    assert len(arrivals) == 250
    bins, _ = np.histogram(arrivals, bins=np.arange(0, 5.01, 0.2))
    assert all(7 <= count <= 13 for count in bins), bins


def test_b128_poisson_arrivals_are_poisson(tmp_path):
    with StubServer() as server:
        measure(tmp_path, server.address, "stub", "--request-rate-range", 200, "--duration", "5s", "--warmup", 0)
        gaps = np.diff(server.arrivals[1:])
    # Of exponential gaps mean and deviation are the same; a thousand of them show it to a tenth.
    assert 0.85 / 200 < gaps.mean() < 1.15 / 200
    assert 0.75 < gaps.std() / gaps.mean() < 1.25


async def _sleep_a_second(_):
    await asyncio.sleep(1)


def test_b130_a_slow_answer_does_not_raise_the_rate(tmp_path):
    with StubServer(_sleep_a_second) as server:
        result = measure(tmp_path, server.address, "stub", "--concurrency-range", 4, "--duration", "8s", "--warmup", "1s")
    assert point_of(result)["requests_per_second"] == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize("rate", [3, 0.5])
def test_b130_rates_below_the_number_of_threads(tmp_path, rate):
    with StubServer() as server:
        result = measure(tmp_path, server.address, "stub", "--request-rate-range", rate, "--request-distribution",
                         "constant", "--threads", 8, "--duration", "8s", "--warmup", 0)
        served = len(server.arrivals) - 1
    assert served == 8 * rate
    assert point_of(result)["offered_per_second"] == pytest.approx(rate, rel=0.1)


def test_b131_integers_stay_within_a_vocabulary_of_two(tmp_path, start_server):
    server = start_server(EMBEDDING)
    assert point_of(measure(tmp_path, server.address, "embedding", *SHORT))["failed"] == 0
    ranged = measure(tmp_path, server.address, "embedding", *SHORT, "--range", "INPUT__0:0,10")
    assert point_of(ranged)["failed"] == 0


def test_b131_a_missing_shape_is_an_error_that_names_the_input(start_server):
    server = start_server(VAR)
    done = run("-m", "var", "-u", server.address, *SHORT)
    assert done.returncode == 3
    assert "INPUT__0" in done.stderr and "--shape" in done.stderr
    assert run("-m", "var", "-u", server.address, *SHORT, "--shape", "INPUT__0:16").returncode == 0


def test_b131_the_batch_size_is_put_in_front_once(tmp_path):
    with StubServer() as server:
        measure(tmp_path, server.address, "stub", "-b", 4, *SHORT)
        shapes = {tuple(request.inputs[0].shape) for request in server.requests}
        sizes = {len(request.raw_input_contents[0]) for request in server.requests}
    assert shapes == {(4, 4)} and sizes == {4 * 4 * 4}


# Bad input


@pytest.mark.parametrize("arguments, code, said", [
    (["-m", "absent"], 3, ["absent"]),
    (["-m", "addone", "-x", "7"], 3, ["7"]),
    (["-m", "addone", "--shape", "INPUT__9:4"], 3, ["INPUT__9"]),
    (["-m", "addone", "--shape", "INPUT__0:5"], 3, ["INPUT__0", "5"]),
    (["-m", "addone", "-b", "9"], 3, ["9"]),
    (["-m", "addone", "--input-data", "/nowhere.json"], 3, ["/nowhere.json"]),
    (["-m", "addone", "--concurrency-range", "0"], 2, ["--concurrency-range", "0"]),
    (["-m", "addone", "--request-rate-range", "5", "--request-distribution", "uniform"], 2, ["uniform"]),
    ([], 2, ["--model-name"]),
])
def test_what_cannot_be_measured_is_told(server, arguments, code, said):
    done = run(*arguments, "-u", server.address)
    assert done.returncode == code, done.stderr
    assert all(each in done.stderr for each in said), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_an_unreachable_server_is_told():
    done = run("-m", "addone", "-u", "127.0.0.1:1")
    assert done.returncode == 3 and "127.0.0.1:1" in done.stderr


@pytest.mark.parametrize("calls", [[], ["--streaming"]])
def test_a_server_that_dies_leaves_what_was_measured(tmp_path, start_server, calls):
    server = start_server(ADDONE)
    path = tmp_path / "result.json"
    bench = start("-m", "addone", "-u", server.address, *calls, "--concurrency-range", 2, "--duration", "60s", "--warmup",
                  0, "--json", path)
    for _ in range(3):
        assert bench.stderr.readline().strip()  # a line each second
    server.signal(signal.SIGKILL)
    _, err = bench.communicate(timeout=60)
    assert bench.returncode == 1, err
    point = point_of(json.loads(path.read_text()))
    assert point["ok"] > 0 and point["failed"] > 0
    assert any("nothing but errors" in reason for reason in point["invalid"])
    assert all(failure["code"] == "UNAVAILABLE" and failure["message"] for failure in point["failures"])


def test_ctrl_c_keeps_what_was_measured(tmp_path, start_server):
    server = start_server(ADDONE)
    path = tmp_path / "result.json"
    bench = start("-m", "addone", "-u", server.address, "--concurrency-range", "1,2,4", "--duration", "60s", "--json", path)
    for _ in range(5):
        assert bench.stderr.readline().strip()
    bench.send_signal(signal.SIGINT)
    bench.communicate(timeout=30)
    assert bench.returncode == 1
    point = point_of(json.loads(path.read_text()))
    assert point["ok"] > 0 and any("stopped" in reason for reason in point["invalid"])


def test_errors_are_counted_by_code_and_assertions_fail(tmp_path):
    async def every_other_fails(request):
        every_other_fails.count += 1
        return grpc.StatusCode.UNAVAILABLE if every_other_fails.count % 2 == 0 else None

    every_other_fails.count = 0
    with StubServer(every_other_fails) as server:
        done = run("-m", "stub", "-u", server.address, *SHORT, "--assert", "errors==0", "--assert", "rps>0")
    assert done.returncode == 1
    assert "errors==0 does not hold" in done.stderr and "rps>0" not in done.stderr
    assert "UNAVAILABLE" in done.stdout and "the stub says so" in done.stdout


SHORT = ["--concurrency-range", "2", "--duration", "500ms", "--warmup", "0"]
