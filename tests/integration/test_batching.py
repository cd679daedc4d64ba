"""What batching shows from outside. Executions are counted by the server's own statistics."""

import time

import grpc
import numpy as np
import pytest
from ferry_server import FerryServer, wait_until
from metrics_text import pending
from models import ADDONE, PROBE, SUMROWS, VAR, Repository
from wire import (arrays, counts, infer, infer_all, of_probe, of_rows, probe_steps, refused, statistics)

MS = 1000  # microseconds

# A delay that no test waits out: what is answered before it was sent because the batch was full.
LONG = 20_000 * MS


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    preferred = "preferred_batch_size: [ 4 ]"
    repository = Repository(tmp_path_factory.mktemp("batching")).add(
        VAR.batching("var_300ms", 300 * MS),
        VAR.batching("var_1s", 1000 * MS),
        VAR.batching("var_long", LONG),
        SUMROWS.batching("sumrows_300ms", 300 * MS),
        PROBE.batching("probe_100ms", 100 * MS),
        PROBE.batching("probe_300ms_4", 300 * MS, max_batch_size=4),
        PROBE.batching("probe_no_delay"),
        PROBE.batching("probe_long", LONG),
        PROBE.batching("probe_preferred", fields=preferred),
        PROBE.batching("probe_preferred_1s", 1000 * MS, preferred),
        PROBE.batching("probe_two_instances", max_batch_size=1, instances=2),
        PROBE.but(name="probe_plain"),
        ADDONE.but(name="addone_plain"),
        ADDONE.batching("addone_50ms", 50 * MS),
        ADDONE.batching("addone_100ms_12", 100 * MS, max_batch_size=12),
        ADDONE.batching("addone_mixed", 1 * MS, max_batch_size=16),
        ADDONE.batching("addone_warm", max_batch_size=4),
    )
    with FerryServer(repository) as server:
        yield server


def answered(response):
    assert not isinstance(response, grpc.RpcError), response
    return next(iter(arrays(response).values()))


def probed(responses):
    """(values, rows of their executions) of answers of a probe."""
    rows = np.concatenate([answered(each) for each in responses])
    return rows[:, 0].tolist(), rows[:, 1].tolist()


def occupy(stub, model, seconds):
    """Keeps the model's one instance busy; returns the running request."""
    steps = probe_steps(stub, model, seconds)
    running = stub.ModelInfer.future(of_probe(model, [-1], steps), timeout=30)
    # Nothing tells when the execution begins; what follows must find the instance taken.
    time.sleep(0.1)
    return running


# What forms a batch


def test_40_requests_make_5_executions_of_8(stub):
    before = counts(stub, "probe_long")
    values, rows = probed(infer_all(stub, [of_probe("probe_long", [i]) for i in range(40)], timeout=15))
    assert values == list(range(40)) and rows == [8] * 40
    assert (counts(stub, "probe_long") - before).batches == {8: 5}


def test_b005_batch_limit_counts_rows(stub):
    messages = [of_probe("probe_100ms", [10 * i, 10 * i + 1, 10 * i + 2]) for i in range(10)]
    before = counts(stub, "probe_100ms")
    values, rows = probed(infer_all(stub, messages))
    assert values == [10 * i + k for i in range(10) for k in range(3)]
    assert set(rows) <= {3, 6} and 6 in rows
    counted = counts(stub, "probe_100ms") - before
    assert counted.rows == 30 and set(counted.batches) <= {3, 6}


def test_b007_requests_that_wait_for_a_busy_instance_run_together(stub):
    running = occupy(stub, "probe_no_delay", 0.5)
    before = counts(stub, "probe_no_delay")
    values, rows = probed(infer_all(stub, [of_probe("probe_no_delay", [i]) for i in range(4)]))
    assert values == [0, 1, 2, 3] and rows == [4] * 4
    assert answered(running.result()).tolist() == [[-1, 1]]
    assert (counts(stub, "probe_no_delay") - before).batches == {1: 1, 4: 1}


def test_without_dynamic_batching_each_request_runs_alone(stub):
    running = occupy(stub, "probe_plain", 0.3)
    before = counts(stub, "probe_plain")
    values, rows = probed(infer_all(stub, [of_probe("probe_plain", [i, i]) for i in range(4)]))
    assert values == [0, 0, 1, 1, 2, 2, 3, 3] and rows == [2] * 8
    assert answered(running.result()).tolist() == [[-1, 1]]
    assert (counts(stub, "probe_plain") - before).batches == {1: 1, 2: 4}


def test_request_goes_to_the_instance_that_is_free(stub):
    long = stub.ModelInfer.future(
        of_probe("probe_two_instances", [1], probe_steps(stub, "probe_two_instances", 1.0)), timeout=30)
    time.sleep(0.1)
    assert infer(stub, of_probe("probe_two_instances", [2])).tolist() == [[2, 1]]
    assert not long.done()
    assert answered(long.result()).tolist() == [[1, 1]]


def test_instances_execute_at_the_same_time(start, repository, gates):
    server = start(repository.add(gates.model().batching("three", instances=3)))
    held = [gates.hold(server.stub, "three", value) for value in range(3)]
    fourth = gates.send(server.stub, "three", 3)
    wait_until(lambda: pending(server, "three") == 1, what="a request without an instance")
    assert not fourth.executing()
    held.append(fourth)
    assert [each.finish()[0][:2] for each in held] == [(0, 1), (1, 1), (2, 1), (3, 1)]


# Delay


def test_lone_request_is_answered_at_once_without_a_delay(stub):
    taken = []
    for i in range(50):
        # After rests of different lengths, as for a thread that looks only from time to time.
        time.sleep(0.001 * (i % 20))
        begin = time.monotonic()
        infer(stub, of_probe("probe_no_delay", [i]))
        taken.append(time.monotonic() - begin)
    assert np.median(taken) < 0.02


def test_b013_lone_request_waits_the_delay(stub):
    before = counts(stub, "probe_300ms_4")
    begin = time.monotonic()
    assert infer(stub, of_probe("probe_300ms_4", [1])).tolist() == [[1, 1]]
    assert 0.295 < time.monotonic() - begin < 0.8
    queued = (counts(stub, "probe_300ms_4") - before).queue_ns / 1e9
    assert 0.295 < queued < 0.4


def test_b013_full_batch_does_not_wait(stub):
    begin = time.monotonic()
    _, rows = probed(infer_all(stub, [of_probe("probe_300ms_4", [i]) for i in range(4)]))
    assert rows == [4] * 4 and time.monotonic() - begin < 0.25


def test_b013_batch_that_is_not_full_waits_the_delay_of_its_first(stub):
    begin = time.monotonic()
    _, rows = probed(infer_all(stub, [of_probe("probe_300ms_4", [i]) for i in range(2)]))
    assert rows == [2] * 2 and 0.295 < time.monotonic() - begin < 0.8


# Preferred sizes


def test_b004_preferred_size_is_sent_although_more_wait(stub):
    running = occupy(stub, "probe_preferred", 0.4)
    before = counts(stub, "probe_preferred")
    values, rows = probed(infer_all(stub, [of_probe("probe_preferred", [i]) for i in range(16)]))
    assert sorted(values) == list(range(16)) and rows == [4] * 16
    running.result()
    assert (counts(stub, "probe_preferred") - before).batches == {1: 1, 4: 4}


def test_preferred_size_does_not_wait_and_the_rest_waits_the_delay(stub):
    begin = time.monotonic()
    futures = [stub.ModelInfer.future(of_probe("probe_preferred_1s", [i]), timeout=10) for i in range(6)]
    finished = []
    for future in futures:
        future.add_done_callback(lambda each: finished.append((time.monotonic() - begin, each)))
    _, rows = probed([future.result() for future in futures])
    assert sorted(rows) == [2, 2, 4, 4, 4, 4]
    times = sorted(at for at, _ in finished)
    assert times[3] < 0.6 and times[4] > 0.99


# Shapes


def test_b001_different_lengths_never_share_an_execution(stub):
    before = counts(stub, "var_300ms")
    rows = [np.full((1, length), value, np.float32) for value, length in enumerate([5, 7, 6, 5])]
    responses = infer_all(stub, [of_rows("var_300ms", each) for each in rows])
    for sent, response in zip(rows, responses):
        np.testing.assert_array_equal(answered(response), sent)
    assert (counts(stub, "var_300ms") - before).batches == {1: 2, 2: 1}


def test_alternating_shapes_still_fill_their_batches(stub):
    before = counts(stub, "var_long")
    rows = [np.full((1, 3 + 2 * (i % 2)), i, np.float32) for i in range(16)]
    for sent, response in zip(rows, infer_all(stub, [of_rows("var_long", each) for each in rows], timeout=15)):
        np.testing.assert_array_equal(answered(response), sent)
    assert (counts(stub, "var_long") - before).batches == {8: 2}


def test_odd_shape_that_waits_does_not_delay_a_full_batch(stub):
    begin = time.monotonic()
    odd = stub.ModelInfer.future(of_rows("var_1s", np.zeros((1, 7))), timeout=10)
    full = infer_all(stub, [of_rows("var_1s", np.full((1, 5), i)) for i in range(8)])
    assert time.monotonic() - begin < 0.7 and not odd.done()
    assert [answered(each)[0, 0] for each in full] == list(range(8))
    assert answered(odd.result()).shape == (1, 7)
    assert 0.99 < time.monotonic() - begin < 2


def test_full_batches_of_one_shape_do_not_delay_another_shape(stub):
    begin = time.monotonic()
    odd = stub.ModelInfer.future(of_rows("var_1s", np.zeros((1, 7))), timeout=10)
    while not odd.done():
        infer_all(stub, [of_rows("var_1s", np.full((1, 5), i)) for i in range(8)])
        assert time.monotonic() - begin < 3
    assert time.monotonic() - begin < 2


# What a batch must not change


def test_b002_merged_requests_all_fail_when_rows_are_missing(stub):
    lone = infer(stub, of_rows("sumrows_300ms", [[1, 2, 3, 4]]))
    assert lone.tolist() == [[1, 2, 3, 4]]
    for error in infer_all(stub, [of_rows("sumrows_300ms", [[i] * 4]) for i in range(4)]):
        assert isinstance(error, grpc.RpcError) and error.code() == grpc.StatusCode.UNIMPLEMENTED
        text = error.details().replace(" ", "")
        assert "OUTPUT__0" in text and "[4,4]" in text and "[1,4]" in text


def test_b010_lone_request_is_the_same_with_and_without_batching(stub):
    parameters = {"text": "a", "number": 7, "flag": True}
    answers = [stub.ModelInfer(of_rows(model, [[1, 2, 3, 4]], id="x", parameters=parameters), timeout=10)
               for model in ("addone_plain", "addone_50ms")]
    assert [each.model_name for each in answers] == ["addone_plain", "addone_50ms"]
    for each in answers:
        each.ClearField("model_name")
    assert answers[0] == answers[1] and answers[0].id == "x"


def test_b115_merged_requests_keep_their_ids(stub):
    ids = ["", "a", "ü", "x" * 1024, "same", "same", "7", "z"]
    responses = infer_all(stub, [of_probe("probe_long", [i], id=id) for i, id in enumerate(ids)], timeout=15)
    assert [(each.id, answered(each).tolist()) for each in responses] == [
        (id, [[i, 8]]) for i, id in enumerate(ids)]


def test_merged_requests_keep_their_own_outputs(stub):
    row = [[1, 2, 3, 4]]
    messages = [of_rows("addone_100ms_12", row), of_rows("addone_100ms_12", row, outputs=["OUTPUT__0"])] * 2
    assert [answered(each).tolist() for each in infer_all(stub, messages)] == [[[2, 3, 4, 5]]] * 4


# Statistics


def test_b107_requests_rows_and_executions_are_told_apart(stub):
    message = of_rows("addone_100ms_12", np.zeros((4, 4)))
    before = counts(stub, "addone_100ms_12")
    for _ in range(3):
        infer(stub, message)
    counted = counts(stub, "addone_100ms_12") - before
    assert (counted.success, counted.rows, counted.executions) == (3, 12, 3)
    infer_all(stub, [message] * 3)
    counted = counts(stub, "addone_100ms_12") - before
    assert (counted.success, counted.rows, counted.executions) == (6, 24, 4)
    assert counted.batches == {4: 3, 12: 1}


def test_b109_statistics_by_batch_size_add_up(stub):
    sizes = [1 + i % 4 for i in range(1000)]
    wall = time.time()
    for response in infer_all(stub, [of_rows("addone_mixed", np.zeros((size, 4))) for size in sizes]):
        answered(response)
    read = statistics(stub, "addone_mixed")
    assert read.inference_stats.success.count == read.inference_stats.queue.count == 1000
    assert read.inference_count == sum(sizes)
    assert sum(each.batch_size * each.compute_infer.count for each in read.batch_stats) == sum(sizes)
    assert sum(each.compute_infer.count for each in read.batch_stats) == read.execution_count
    assert max(each.batch_size for each in read.batch_stats) <= 16
    assert wall - 1 < read.last_inference / 1000 < time.time() + 1


def test_warm_up_is_not_counted(stub):
    read = statistics(stub, "addone_warm")
    assert (read.inference_count, read.execution_count, read.last_inference, list(read.batch_stats)) == (
        0, 0, 0, [])


def test_request_larger_than_a_batch_is_refused_and_delays_nobody(stub):
    assert "8" in refused(stub.ModelInfer, of_probe("probe_long", range(9)), grpc.StatusCode.INVALID_ARGUMENT)
    _, rows = probed(infer_all(stub, [of_probe("probe_long", [i]) for i in range(8)], timeout=15))
    assert rows == [8] * 8
