"""Command line, ports and the end of the process."""

import re
import signal
import subprocess
import time

import grpc
import pytest
from ferry_server import BINARY
from grpc_health.v1 import health_pb2, health_pb2_grpc
from models import ADDONE, PROBE, add_slow_start
from tritonclient.grpc import service_pb2 as pb
from wire import arrays, infer, of_probe, of_rows, probe_steps

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


def in_flight(server, model="probe", seconds=1.0, count=1):
    """Sends requests of this length and returns them once the server has them."""
    steps = probe_steps(server.stub, model, seconds)
    futures = [server.stub.ModelInfer.future(of_probe(model, [i], steps), timeout=60) for i in range(count)]
    time.sleep(0.2)  # No event tells that a request was accepted.
    return futures


def values(futures):
    return [arrays(each.result())["OUTPUT__0"][0, 0] for each in futures]


# Stop


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_idle_server_with_open_connections_ends_at_once(start, repository, number):
    server = start(repository.add(ADDONE))
    begin = time.monotonic()
    server.signal(number)
    assert server.wait_exit(10) == 0
    assert time.monotonic() - begin < 5


def test_b121_accepted_requests_are_answered_and_new_ones_unavailable(start, repository):
    server = start(repository.add(ADDONE, PROBE.but(max_batch_size=1)))
    # One runs and two wait for it.
    accepted = in_flight(server, seconds=0.7, count=3)
    server.signal()
    time.sleep(0.1)
    codes, ready = set(), []
    while not accepted[-1].done():
        late = server.stub.ModelInfer.future(of_rows("addone", [[1, 2, 3, 4]]), timeout=10)
        codes.add(late.exception() and late.code())
        ready.append(says_ready(server.stub))
        time.sleep(0.05)
    assert values(accepted) == [0, 1, 2]
    assert codes == {UNAVAILABLE} and len(ready) > 3 and not any(ready)
    assert server.wait_exit() == 0


def says_ready(stub):
    try:
        return stub.ServerReady(pb.ServerReadyRequest(), timeout=10).ready
    except grpc.RpcError as error:
        assert error.code() == UNAVAILABLE
        return False


def test_batch_that_waits_for_its_delay_is_answered_at_once_on_shutdown(start, repository):
    server = start(repository.add(PROBE.batching("patient", 6_000_000)))
    waiting = server.stub.ModelInfer.future(of_probe("patient", [7]), timeout=60)
    time.sleep(0.2)
    begin = time.monotonic()
    server.signal()
    assert values([waiting]) == [7]
    assert server.wait_exit() == 0 and time.monotonic() - begin < 4


@pytest.mark.parametrize("first, second", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)])
def test_b121_second_signal_ends_the_process_at_once(start, repository, first, second):
    server = start(repository.add(PROBE))
    in_flight(server, seconds=5)
    server.signal(first)
    server.wait_for_log("(?i)stop|shut|drain|signal")
    begin = time.monotonic()
    server.signal(second)
    assert server.wait_exit(10) == 128 + second
    assert time.monotonic() - begin < 2


def test_exit_timeout_bounds_the_wait_for_a_long_request(start, repository):
    server = start(repository.add(PROBE), flags=["--exit-timeout-secs=1"])
    in_flight(server, seconds=8)
    begin = time.monotonic()
    server.signal()
    server.wait_exit(15)
    assert time.monotonic() - begin < 4


def test_b124_requests_in_flight_at_the_end_are_answered_or_refused(start, repository):
    server = start(repository.add(PROBE.batching("probe", 1000)))
    steps = probe_steps(server.stub, "probe", 0.02)
    futures = [server.stub.ModelInfer.future(of_probe("probe", [i], steps), timeout=30) for i in range(64)]
    server.signal()
    codes = [each.exception() and each.code() for each in futures]
    assert set(codes) <= {None, UNAVAILABLE}
    answered = [(each, i) for i, each in enumerate(futures) if each.exception() is None]
    assert values(each for each, _ in answered) == [i for _, i in answered]
    assert server.wait_exit() == 0


def test_b124_clients_that_cancel_do_not_hold_up_the_end(start, repository):
    server = start(repository.add(PROBE.but(max_batch_size=1)))
    futures = in_flight(server, seconds=0.05, count=50)
    for future in futures[1:]:
        future.cancel()
    server.signal()
    assert server.wait_exit(20) == 0


def test_health_watch_hears_of_the_end(start, repository):
    server = start(repository.add(PROBE))
    watch = health_pb2_grpc.HealthStub(server.channel).Watch(health_pb2.HealthCheckRequest(), timeout=30)
    assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
    in_flight(server, seconds=0.5)
    server.signal()
    assert next(watch).status == health_pb2.HealthCheckResponse.NOT_SERVING
    assert server.wait_exit() == 0


# Stop during load


def test_b122_signal_during_a_long_warm_up_of_short_samples_ends_cleanly(start, repository):
    add_slow_start(repository, "slow", steps=1000, count=1000)
    server = start(repository.add(ADDONE), wait="listening")
    time.sleep(1)
    begin = time.monotonic()
    server.signal()
    assert server.wait_exit(20) == 0
    assert time.monotonic() - begin < 5


def test_b122_signal_during_one_long_warm_up_ends_within_the_exit_timeout(start, repository):
    add_slow_start(repository, "slow", steps=150_000, count=1)
    server = start(repository.add(ADDONE), flags=["--exit-timeout-secs=1"], wait="listening")
    time.sleep(1)
    begin = time.monotonic()
    server.signal()
    assert server.wait_exit(20) in (0, 143)
    assert time.monotonic() - begin < 4


# Ports


@pytest.mark.parametrize("name", ["grpc", "metrics"])
def test_b119_second_server_on_a_port_names_it_and_ends(start, repository, name):
    first = start(repository.add(ADDONE))
    port = getattr(first, f"{name}_port")
    second = start(repository, flags=[f"--{name}-port={port}"], wait=None)
    assert second.wait_exit(10) > 0
    assert any(str(port) in line for line in second.log())
    assert infer(first.stub, of_rows("addone", [[1, 2, 3, 4]])).tolist() == [[2, 3, 4, 5]]


# Command line


def run(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=5)


@pytest.mark.parametrize("flag, meant", [("--grpc-prot=1", "--grpc-port"), ("--model-repositry=x", "--model-repository"),
                                         ("--metrics_port=1", "--metrics-port"), ("--grpc-prt", "--grpc-port")])
def test_unknown_flag_is_an_error_with_a_suggestion(repository, flag, meant):
    ended = run(f"--model-repository={repository}", flag)
    assert ended.returncode == 2
    assert flag.split("=")[0] in ended.stderr and f"did you mean {meant}?" in ended.stderr


@pytest.mark.parametrize("flag", ["--grpc-port=abc", "--grpc-port=70000", "--grpc-port=-1", "--grpc-port=",
                                  "--exit-timeout-secs=1x", "--allow-metrics=maybe", "--max-queue-size=-4"])
def test_bad_value_of_a_flag_is_an_error_that_names_it(repository, flag):
    name, value = flag.split("=")
    ended = run(f"--model-repository={repository}", flag)
    assert ended.returncode == 2 and name in ended.stderr and value in ended.stderr


def test_missing_model_repository_is_an_error(repository):
    ended = run("--grpc-port=0")
    assert ended.returncode == 2 and "--model-repository" in ended.stderr


def test_word_that_is_no_flag_is_an_error(repository):
    ended = run(f"--model-repository={repository}", "potato")
    assert ended.returncode == 2 and "potato" in ended.stderr


def test_help_lists_the_flags():
    ended = run("--help")
    assert ended.returncode == 0
    assert {"--model-repository", "--grpc-port", "--metrics-port"} <= set(
        re.findall(r"--[a-z-]+", ended.stdout + ended.stderr))


def test_http_port_is_accepted_with_a_warning(start, repository):
    server = start(repository.add(ADDONE), flags=["--http-port=8000"])
    assert any("http" in line.lower() for line in server.log())


def test_flags_may_be_separated_from_their_values(start, repository):
    server = start(repository.add(ADDONE), flags=["--id", "harbour"])
    assert server.stub.ServerMetadata(pb.ServerMetadataRequest()).name == "harbour"
