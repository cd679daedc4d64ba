"""What ferry-bench sends and how it checks the answers: mixes, limits of requests, streams."""

import asyncio
import json
import subprocess

import pytest
from bench_tool import measure, run
from metrics_text import url as metrics_url
from models import ADDONE
from stub_server import StubServer

SHORT = ["--concurrency-range", "4", "--duration", "700ms", "--warmup", "0"]


def point_of(result):
    assert len(result["points"]) == 1
    return result["points"][0]


def write_json(path, content):
    path.write_text(json.dumps(content))
    return path


# Mixes


def test_a_mix_over_models_and_sizes_is_sent_by_weight(tmp_path, server):
    mix = write_json(tmp_path / "mix.json", {"classes": [
        {"name": "small", "model": "addone", "weight": 3},
        {"name": "wide", "model": "var", "batch": 4, "shapes": {"INPUT__0": [64]}},
    ]})
    point = point_of(measure(tmp_path, server.address, "addone", "--mix", mix, "--request-rate-range", 400, "--duration",
                             "4s", "--warmup", 0, "--verify", "alone:exact"))
    small, wide = point["classes"]
    assert (small["name"], wide["name"]) == ("small", "wide")
    assert point["failed"] == 0 and small["ok"] + wide["ok"] == point["ok"]
    assert 0.68 < small["ok"] / point["ok"] < 0.82
    rows = (small["ok"] + 4 * wide["ok"]) / point["ok"]
    assert point["rows"] == pytest.approx(rows)
    # The server's own count is of both models. What is under way at the ends may fall to either side.
    assert point["server"]["inferences"] == pytest.approx(rows * point["ok"], rel=0.02)


def test_a_fault_of_a_mix_names_file_class_and_field(tmp_path, server):
    mix = write_json(tmp_path / "mix.json", {"classes": [{"model": "addone"}, {"model": "var", "prioritty": 1}]})
    done = run("--mix", mix, "-u", server.address, *SHORT)
    assert done.returncode == 3
    assert "mix.json: class 1: unknown field 'prioritty'" in done.stderr


def test_a_trace_says_which_class_is_due(tmp_path, server):
    mix = write_json(tmp_path / "mix.json", {"classes": [{"name": "a", "model": "addone"}, {"name": "b", "model": "two"}]})
    trace = tmp_path / "trace.csv"
    trace.write_text("t_ms,class\n" + "".join(f"{10 * i},{'b' if i % 5 == 0 else 'a'}\n" for i in range(100)))
    point = point_of(measure(tmp_path, server.address, "addone", "--mix", mix, "--trace", trace))
    assert [(each["name"], each["ok"]) for each in point["classes"]] == [("a", 80), ("b", 20)]
    clipped = point_of(measure(tmp_path, server.address, "addone", "--trace", trace, "--trace-clip", "500ms"))
    assert clipped["offered"] == 50


def test_intervals_of_perf_analyzer_are_the_gaps_of_the_load(tmp_path):
    intervals = tmp_path / "intervals"
    intervals.write_text("10000\n30000\n")
    with StubServer() as server:
        point = point_of(measure(tmp_path, server.address, "stub", "--request-intervals", intervals, "--duration", "2s",
                                 "--warmup", 0))
    assert point["offered"] == 99 and point["load"]["arrivals"] == "intervals"


@pytest.mark.parametrize("name, figure, unit", [
    ("single-stream", "p90 latency", "ms"), ("multi-stream", "p99 latency", "ms"), ("offline", "throughput", "samples/s")])
def test_scenarios_say_their_figure_and_what_is_short_of_the_rules(tmp_path, server, name, figure, unit):
    result = measure(tmp_path, server.address, "addone", "--scenario", name, "--duration", "2s", "--warmup", "200ms")
    scenario = result["scenario"]
    assert (scenario["name"], scenario["figure"], scenario["unit"]) == (name, figure, unit)
    assert any("of 600 s" in reason for reason in scenario["short_of_rules"])
    if unit == "ms":
        assert scenario["value"] >= point_of(result)["response_ms"]["p50"]
    else:
        assert scenario["value"] == pytest.approx(point_of(result)["inferences_per_second"])


def test_what_changed_on_the_metrics_page_is_in_the_result(tmp_path, start_server):
    server = start_server(ADDONE)
    url = metrics_url(server)
    point = point_of(measure(tmp_path, server.address, "addone", "--request-rate-range", 100, "--duration", "2s", "--warmup", 0,
                             "--metrics-url", url))
    changed = {each["series"]: each["after"] - each["before"] for each in point["metrics"]}
    success = [change for series, change in changed.items() if series.startswith("nv_inference_request_success{")]
    # What is under way at the ends may fall to either side.
    assert len(success) == 1 and success[0] == pytest.approx(point["ok"], abs=10)
    assert all(each["before"] != each["after"] for each in point["metrics"])
    done = run("-m", "addone", "-u", server.address, *SHORT, "--metrics-url", metrics_url(server, "/none"))
    assert done.returncode == 3 and "404" in done.stderr


# Limits of requests


def test_priority_timeout_and_parameters_reach_the_server(tmp_path):
    with StubServer() as server:
        measure(tmp_path, server.address, "stub", *SHORT, "--priority", 3, "--queue-timeout", "20ms",
                "--request-parameter", "who:me:string")
        parameters = {name: str(value) for name, value in server.requests[-1].parameters.items()}
    assert {name: value.split() for name, value in parameters.items()} == {
        "priority": ["int64_param:", "3"], "timeout": ["int64_param:", "20000"], "who": ["string_param:", '"me"']}


async def _sleep_a_second(_):
    await asyncio.sleep(1)


def test_calls_that_are_given_up_are_neither_answered_nor_failed(tmp_path):
    with StubServer(_sleep_a_second) as server:
        point = point_of(measure(tmp_path, server.address, "stub", "--request-rate-range", 100, "--request-distribution",
                                 "constant", "--duration", "3s", "--warmup", 0, "--cancel", "0.5,20ms"))
    assert point["offered"] == 300 and point["failed"] == 0
    assert point["ok"] + point["cancelled"] == 300
    assert 110 < point["cancelled"] < 190
    assert any("cancelled" in note for note in point["notes"])


def test_a_deadline_is_a_failure_of_its_own_kind(tmp_path):
    async def sleep_after_the_first(request):
        sleep_after_the_first.count += 1
        await asyncio.sleep(0 if sleep_after_the_first.count == 1 else 1)

    sleep_after_the_first.count = 0
    with StubServer(sleep_after_the_first) as server:
        point = point_of(measure(tmp_path, server.address, "stub", *SHORT, "--deadline", "50ms", code=1))
    assert point["ok"] == 0 and {failure["code"] for failure in point["failures"]} == {"DEADLINE_EXCEEDED"}


# Connections


@pytest.fixture(name="certificate")
def _certificate(tmp_path):
    """A key and a certificate of 127.0.0.1 that has signed itself, as files."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=ferry",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return key, certificate


def test_tls_and_headers_reach_the_server(tmp_path, certificate):
    key, pem = certificate
    with StubServer(tls=(key.read_bytes(), pem.read_bytes())) as server:
        measure(tmp_path, server.address, "stub", *SHORT, "-H", "Who: me", "--ssl-grpc-use-ssl",
                "--ssl-grpc-root-certifications-file", pem, "--ssl-grpc-private-key-file", key,
                "--ssl-grpc-certificate-chain-file", pem)
        assert server.metadata[-1]["who"] == "me"
        done = run("-m", "stub", "-u", server.address, *SHORT)
    assert done.returncode == 3 and server.address in done.stderr


def test_compressed_requests_are_answered(tmp_path, server):
    for algorithm in ("gzip", "deflate"):
        point = point_of(measure(tmp_path, server.address, "addone", *SHORT, "--grpc-compression-algorithm", algorithm,
                                 "--verify", "alone:exact"))
        assert point["ok"] > 0 and point["failed"] == point["wrong"] == 0


# Answers


def data_with(tmp_path, outputs):
    return write_json(tmp_path / "data.json", {"data": [{"INPUT__0": [1, 2, 3, 4]}], "validation_data": [outputs]})


def test_answers_are_checked_against_the_data(tmp_path, server):
    right = data_with(tmp_path, {"OUTPUT__0": [2, 3, 4, 5]})
    assert point_of(measure(tmp_path, server.address, "addone", *SHORT, "--input-data", right, "--verify",
                            "data:exact"))["wrong"] == 0
    wrong = data_with(tmp_path, {"OUTPUT__0": [2, 3, 4, 6]})
    point = point_of(measure(tmp_path, server.address, "addone", *SHORT, "--input-data", wrong, "--verify", "data", code=1))
    assert point["wrong"] == point["ok"] > 0
    assert any("OUTPUT__0" in reason and "5" in reason and "6" in reason for reason in point["invalid"])


def test_answers_under_load_are_those_of_the_request_alone(tmp_path, server):
    assert point_of(measure(tmp_path, server.address, "addone", *SHORT, "--verify", "alone:exact"))["wrong"] == 0
    # Each answer of this model differs from the one before.
    point = point_of(measure(tmp_path, server.address, "counter", *SHORT, "--verify", "alone", code=1))
    assert point["wrong"] == point["ok"] > 0


def test_a_check_without_anything_to_check_against_is_told(server):
    done = run("-m", "addone", "-u", server.address, *SHORT, "--verify", "data")
    assert done.returncode == 3 and "--verify data" in done.stderr


# Streams


@pytest.mark.parametrize("load", [["--concurrency-range", "8"], ["--request-rate-range", "300"]])
def test_streams_answer_each_request_with_its_own_answer(tmp_path, server, load):
    point = point_of(measure(tmp_path, server.address, "addone", "--streaming", *load, "--duration", "2s", "--warmup",
                             "200ms", "--verify", "alone:exact"))
    assert point["ok"] > 400 and point["failed"] == point["wrong"] == 0
    assert point["response_ms"]["p50"] < 100


def test_errors_on_a_stream_are_of_their_request_alone(tmp_path, server):
    data = write_json(tmp_path / "data.json", {"data": [{"INPUT__0": [1] * 4}, {"INPUT__0": [-1] * 4}]})
    point = point_of(measure(tmp_path, server.address, "rz", "--streaming", *SHORT, "--input-data", data))
    assert point["ok"] > 0 and point["failed"] > 0
    assert len(point["failures"]) == 1 and "negative input" in point["failures"][0]["message"], point["failures"]
