"""The metrics page: Triton's names and labels, and the same numbers as ModelStatistics."""

import socket
import urllib.error
import urllib.request

import grpc
import pytest
from ferry_server import wait_until
from metrics_text import scrape, url
from models import ADDONE, PROBE, RZ
from wire import (counts, floats, infer, infer_all, of_probe, of_rows, one_input, probe_steps, refused,
                  statistics)

COUNTERS = [
    "nv_inference_request_success", "nv_inference_request_failure", "nv_inference_count",
    "nv_inference_exec_count", "nv_inference_request_duration_us", "nv_inference_queue_duration_us",
    "nv_inference_compute_input_duration_us", "nv_inference_compute_infer_duration_us",
    "nv_inference_compute_output_duration_us",
]
REASONS = ["BACKEND", "CANCELED", "OTHER", "REJECTED"]


@pytest.fixture
def server(start, repository):
    limit = "default_queue_policy { max_queue_size: 2 }"
    repository.add(ADDONE, RZ, PROBE.batching("short_queue", fields=limit, max_batch_size=1))
    return start(repository)


@pytest.fixture
def stub(server):
    return server.stub


def failures(server, model):
    metrics = scrape(server)
    return {reason: metrics.value("nv_inference_request_failure", model=model, version="1", reason=reason)
            for reason in REASONS}


def test_counters_have_tritons_names_and_labels(server):
    metrics = scrape(server)
    for name in COUNTERS:
        assert (metrics.types.get(name), bool(metrics.helps.get(name))) == ("counter", True), name
    plain = [name for name in COUNTERS if name != "nv_inference_request_failure"]
    for name in plain:
        assert metrics.value(name, model="addone", version="1") == 0
    assert sorted(each["reason"] for each in metrics.labels_of("nv_inference_request_failure")
                  if each["model"] == "addone") == REASONS
    assert metrics.types["nv_inference_pending_request_count"] == "gauge"


def test_metrics_equal_the_statistics(server, stub):
    for response in infer_all(stub, [of_rows("addone", [[1, 2, 3, 4]] * (1 + i % 3)) for i in range(100)]):
        assert not isinstance(response, grpc.RpcError)
    metrics, read = scrape(server), statistics(stub, "addone")

    def value(name):
        return metrics.value(f"nv_inference_{name}", model="addone", version="1")

    assert value("request_success") == read.inference_stats.success.count == 100
    assert value("count") == read.inference_count == 199
    assert value("exec_count") == read.execution_count == 100
    for name, part in (("request", "success"), ("queue", "queue"), ("compute_input", "compute_input"),
                       ("compute_infer", "compute_infer"), ("compute_output", "compute_output")):
        assert value(f"{name}_duration_us") == pytest.approx(getattr(read.inference_stats, part).ns / 1000, abs=1)


def test_b106_failures_are_counted_by_their_reason(server, stub):
    for _ in range(5):
        infer(stub, of_rows("rz", [[1, 2, 3, 4]]))
    for _ in range(3):
        refused(stub.ModelInfer, of_rows("rz", [[-1, 2, 3, 4]]), grpc.StatusCode.INTERNAL)
    for _ in range(4):
        refused(stub.ModelInfer, one_input("rz", [1, 5], floats(1, 2, 3, 4, 5)), grpc.StatusCode.INVALID_ARGUMENT)
    assert scrape(server).value("nv_inference_request_success", model="rz", version="1") == 5
    assert failures(server, "rz") == {"BACKEND": 3, "REJECTED": 4, "CANCELED": 0, "OTHER": 0}
    counted = counts(stub, "rz")
    assert (counted.success, counted.fail, counted.rows) == (5, 7, 5)


def test_b106_refusals_of_a_full_queue_are_counted(server, stub):
    steps = probe_steps(stub, "short_queue", 0.3)
    before = counts(stub, "short_queue").success
    messages = [of_probe("short_queue", [i], steps if i == 0 else 0) for i in range(10)]
    responses = infer_all(stub, messages)
    refusals = [each for each in responses if isinstance(each, grpc.RpcError)]
    assert {each.code() for each in refusals} == {grpc.StatusCode.UNAVAILABLE}
    assert failures(server, "short_queue")["REJECTED"] == len(refusals) > 0
    counted = counts(stub, "short_queue")
    assert (counted.success - before, counted.fail) == (10 - len(refusals), len(refusals))


def test_b106_unknown_model_adds_no_series(server, stub):
    before = set(scrape(server).samples)
    refused(stub.ModelInfer, of_rows("nosuch", [[1]]), grpc.StatusCode.NOT_FOUND)
    refused(stub.ModelInfer, of_rows("addone", [[1]], version="9"), grpc.StatusCode.NOT_FOUND)
    assert set(scrape(server).samples) == before


def test_pending_requests_rise_and_fall(server, stub):
    steps = probe_steps(stub, "short_queue", 0.7)
    futures = [stub.ModelInfer.future(of_probe("short_queue", [i], steps), timeout=30) for i in range(3)]

    def pending():
        return scrape(server).value("nv_inference_pending_request_count", model="short_queue", version="1")

    wait_until(lambda: pending() > 0, what="pending requests > 0")
    for future in futures:
        future.exception()
    assert pending() == 0


def test_model_name_with_dots_and_dashes_is_a_label(start, repository):
    repository.add(ADDONE.but(name="a-b.c"))
    assert scrape(start(repository)).value("nv_inference_count", model="a-b.c", version="1") == 0


def test_each_served_version_has_its_series(start, repository):
    repository.add(ADDONE.but(extra="version_policy { all { } }"))
    repository.write("addone", file=ADDONE.file(), version="3")
    server = start(repository)
    infer(server.stub, of_rows("addone", [[1, 2, 3, 4]], version="1"))
    metrics = scrape(server)
    assert [metrics.value("nv_inference_count", model="addone", version=each) for each in ("1", "3")] == [1, 0]


# The page itself


def test_page_says_its_format(server):
    with urllib.request.urlopen(url(server), timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")


def test_other_paths_are_not_found(server):
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(url(server, "/potato"), timeout=10)
    assert caught.value.code == 404


@pytest.mark.parametrize("sent", [b"", b"\0" * 100, b"GET", b"GET /metrics HTTP/1.1\r\n", b"A" * 100_000,
                                  b"POST /metrics HTTP/1.1\r\nContent-Length: 1000000000000\r\n\r\n"],
                         ids=["nothing", "zeros", "half a line", "half a head", "endless line", "huge body"])
def test_bad_requests_do_not_stop_the_page(server, sent):
    with socket.create_connection(("127.0.0.1", server.metrics_port), timeout=10) as connection:
        try:
            connection.sendall(sent)
        except OSError:
            pass  # The server may close before it has read all of it.
        # The next scrape must work while this connection is still open.
        assert scrape(server).value("nv_inference_count", model="addone", version="1") == 0


def test_metrics_can_be_switched_off(start, repository):
    server = start(repository.add(ADDONE), flags=["--allow-metrics=false"])
    assert infer(server.stub, of_rows("addone", [[1, 2, 3, 4]])).tolist() == [[2, 3, 4, 5]]
    assert not server.metrics_port
