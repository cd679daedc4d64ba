"""Bounds, timeouts, priorities and order of what waits: the instances are held, so that all else has to."""

import time

import grpc
import pytest
from ferry_server import FerryServer, wait_until
from gates import answer, enqueue, of_gated, turns, values
from metrics_text import failures, pending
from models import PROBE, Repository
from wire import arrays, counts, infer_all, of_probe, refused

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
MS = 1000  # microseconds

# What is answered within this time did not wait for the instance, which is held as long as the test likes.
SOON = 5


def policy(text):
    return f"default_queue_policy {{ {text} }}"


def level_policy(level, text):
    return f"priority_queue_policy {{ key: {level} value {{ {text} }} }}"


@pytest.fixture(scope="module")
def server(tmp_path_factory, all_gates):
    def lone(name, *fields):
        return all_gates.model().batching(name, fields=" ".join(fields), max_batch_size=1)

    levels = "priority_levels: 3 default_priority_level: 2"
    repository = Repository(tmp_path_factory.mktemp("queue_policy")).add(
        lone("free"),
        lone("four", policy("max_queue_size: 4")),
        lone("reject_200ms", policy("timeout_action: REJECT default_timeout_microseconds: 200000")),
        lone("fixed_300ms", policy("default_timeout_microseconds: 300000")),
        lone("override_300ms", policy("default_timeout_microseconds: 300000 allow_timeout_override: true")),
        lone("override_1min", policy("default_timeout_microseconds: 60000000 allow_timeout_override: true")),
        lone("override", policy("allow_timeout_override: true")),
        lone("delay", policy("timeout_action: DELAY allow_timeout_override: true")),
        lone("delay_1s", policy("timeout_action: DELAY default_timeout_microseconds: 1000000")),
        lone("levels", levels),
        lone("level_bounds", levels, policy("max_queue_size: 2"), level_policy(1, "max_queue_size: 1")),
        lone("level_timeouts", levels, level_policy(1, "default_timeout_microseconds: 100000")),
        all_gates.model().batching("levels_of_8", fields=levels),
        lone("ordered", "preserve_ordering: true").but(instances=2),
        lone("ordered_two", "preserve_ordering: true", policy("max_queue_size: 2")).but(instances=2),
        lone("ordered_500ms", "preserve_ordering: true",
             policy("default_timeout_microseconds: 500000")).but(instances=2),
        PROBE.batching("ordered_probe", fields="preserve_ordering: true", max_batch_size=1, instances=2),
        all_gates.model("plain", max_batch_size=1),
    )
    with FerryServer(repository) as server:
        yield server


# What a test leaves waiting in an execution goes on at its end.
pytestmark = pytest.mark.usefixtures("gates")


def refusal(future, code=UNAVAILABLE):
    """The text of a refusal that must arrive while the instance is still held."""
    error = future.exception(SOON)
    assert error is not None and error.code() == code, error
    return error.details()


def with_timeout(model, value, milliseconds):
    return of_gated(model, [value], parameters={"timeout": milliseconds * MS})


# Bounds


@pytest.mark.parametrize("spacing", [0, 0.05], ids=["at once", "one after the other"])
def test_b020_b025_queue_takes_exactly_its_bound_beside_the_running_request(server, stub, gates, spacing):
    before, refused_before = counts(stub, "four"), failures(server, "four")
    running = gates.hold(stub, "four")
    futures = []
    for value in range(10):
        futures.append(stub.ModelInfer.future(of_gated("four", [value]), timeout=30))
        time.sleep(spacing)
    for future in futures[4:]:
        text = refusal(future)
        assert "Exceeds maximum queue size" in text and "4" in text
    assert pending(server, "four") == 4
    running.finish()
    assert values(futures[:4]) == [0, 1, 2, 3]
    counted = counts(stub, "four") - before
    assert (counted.executions, counted.success, counted.fail) == (5, 5, 6)
    assert failures(server, "four") - refused_before == {"queue_full": 6}


def test_refused_request_may_be_sent_again_once_there_is_room(server, stub, gates):
    running = gates.hold(stub, "four")
    waiting = enqueue(server, "four", [of_gated("four", [value]) for value in range(4)])
    refused(stub.ModelInfer, of_gated("four", [5]), UNAVAILABLE)
    running.finish()
    assert values(waiting) == [0, 1, 2, 3]
    assert answer(stub.ModelInfer.future(of_gated("four", [6]), timeout=30))[0][0] == 6


def test_queue_size_of_the_server_holds_where_the_config_has_none(start, repository, gates):
    repository.add(gates.model("plain", max_batch_size=1),
                   gates.model().batching("batching", max_batch_size=1))
    server = start(repository, flags=["--max-queue-size=2"])
    for model in ("plain", "batching"):
        running = gates.hold(server.stub, model)
        waiting = enqueue(server, model, [of_gated(model, [value]) for value in range(2)])
        assert "2" in refused(server.stub.ModelInfer, of_gated(model, [9]), UNAVAILABLE)
        running.finish()
        assert values(waiting) == [0, 1]
        assert failures(server, model) == {"queue_full": 1}


def test_bytes_that_wait_for_a_model_are_bounded(start, repository, gates):
    repository.add(gates.model("a", max_batch_size=1), gates.model("b", max_batch_size=1))
    server = start(repository, flags=["--max-queue-bytes=100000"])
    running = gates.hold(server.stub, "a")
    waiting = enqueue(server, "a", [of_gated("a", [value], width=10_000) for value in range(2)])
    text = refused(server.stub.ModelInfer, of_gated("a", [9], width=10_000), UNAVAILABLE)
    assert "Exceeds maximum queue size" in text and "100000" in text
    waiting += enqueue(server, "a", [of_gated("a", [2])])
    held_b = gates.hold(server.stub, "b")
    other = enqueue(server, "b", [of_gated("b", [3], width=10_000)])
    running.finish()
    held_b.finish()
    assert values(waiting + other) == [0, 1, 2, 3]
    assert (failures(server, "a"), failures(server, "b")) == ({"queue_bytes": 1}, {})


@pytest.mark.parametrize("flag, width", [
    ("--max-server-queue-size=3", 2), ("--max-server-queue-bytes=150000", 10_000)], ids=["requests", "bytes"])
def test_what_waits_in_the_whole_server_is_bounded(start, repository, gates, flag, width):
    repository.add(gates.model("a", max_batch_size=1), gates.model().batching("b", max_batch_size=1))
    server = start(repository, flags=[flag])
    running = [gates.hold(server.stub, model) for model in ("a", "b")]
    waiting = enqueue(server, "a", [of_gated("a", [value], width=width) for value in range(2)])
    given_up = enqueue(server, "b", [of_gated("b", [9], width=width)])
    for model in ("a", "b"):
        text = refused(server.stub.ModelInfer, of_gated(model, [9], width=width), UNAVAILABLE)
        assert "of the server" in text
    # A request that leaves the queue in any way makes room for another.
    given_up[0].cancel()
    wait_until(lambda: pending(server, "b") == 0, what="the end of the cancelled request")
    waiting += enqueue(server, "b", [of_gated("b", [2], width=width)])
    refused(server.stub.ModelInfer, of_gated("a", [9], width=width), UNAVAILABLE)
    for each in running:
        each.finish()
    assert values(waiting) == [0, 1, 2]
    assert failures(server, "a") == {"server_full": 2}
    assert failures(server, "b") == {"server_full": 1, "cancelled": 1}
    # All room is given back.
    running = [gates.hold(server.stub, model) for model in ("a", "b")]
    waiting = enqueue(server, "a", [of_gated("a", [value], width=width) for value in range(3)])
    for each in running:
        each.finish()
    assert values(waiting) == [0, 1, 2]


def test_bound_of_a_level_leaves_the_other_levels_their_own(server, stub, gates):
    def at(level):
        return of_gated("level_bounds", [level], parameters={"priority": level})

    running = gates.hold(stub, "level_bounds")
    waiting = enqueue(server, "level_bounds", [at(1)])
    refused(stub.ModelInfer, at(1), UNAVAILABLE)
    waiting += enqueue(server, "level_bounds", [at(3), at(3)])
    refused(stub.ModelInfer, at(3), UNAVAILABLE)
    waiting += enqueue(server, "level_bounds", [at(2)])
    running.finish()
    assert values(waiting) == [1, 3, 3, 2]


# Timeouts


def test_b019_queue_timeout_is_answered_while_the_instance_is_busy(server, stub, gates):
    before = counts(stub, "reject_200ms")
    running = gates.hold(stub, "reject_200ms")
    begin = time.monotonic()
    late = stub.ModelInfer.future(of_gated("reject_200ms", [1]), timeout=30)
    assert "Request timeout expired" in refusal(late)
    assert 0.195 < time.monotonic() - begin < 1
    assert not running.future.done() and pending(server, "reject_200ms") == 0
    assert running.finish()[0][0] == -1
    counted = counts(stub, "reject_200ms") - before
    assert (counted.executions, counted.success, counted.fail) == (1, 1, 1)


def test_timeout_does_not_apply_to_a_request_that_runs(stub, gates):
    running = gates.hold(stub, "reject_200ms")
    time.sleep(0.5)
    assert running.finish()[0][0] == -1


def test_request_may_shorten_the_timeout_where_the_config_allows_it(stub, gates):
    running = gates.hold(stub, "override")
    waiting = stub.ModelInfer.future(of_gated("override", [1]), timeout=30)
    for milliseconds in (1, 100):
        begin = time.monotonic()
        refusal(stub.ModelInfer.future(with_timeout("override", 2, milliseconds), timeout=30))
        assert time.monotonic() - begin > milliseconds / 1000 * 0.95
    # Zero is no timeout, and without one nothing ends the wait.
    unlimited = stub.ModelInfer.future(with_timeout("override", 3, 0), timeout=30)
    time.sleep(0.3)
    assert not waiting.done() and not unlimited.done()
    running.finish()
    assert values([waiting, unlimited]) == [1, 3]


@pytest.mark.parametrize("model, milliseconds, waited", [
    ("override_1min", 50, 0.05),
    ("override_300ms", 60_000, 0.3),
    ("override_300ms", 0, 0.3),
    ("fixed_300ms", 50, 0.3),
    ("fixed_300ms", 60_000, 0.3),
], ids=["shorter", "longer", "none", "shorter but not allowed", "longer but not allowed"])
def test_shorter_timeout_counts_if_the_request_may_have_its_own(stub, gates, model, milliseconds, waited):
    running = gates.hold(stub, model)
    begin = time.monotonic()
    refusal(stub.ModelInfer.future(with_timeout(model, 1, milliseconds), timeout=30))
    assert time.monotonic() - begin > 0.95 * waited
    running.finish()


def test_timeout_of_a_level_is_its_own(stub, gates):
    def at(level):
        message = of_gated("level_timeouts", [level], parameters={"priority": level})
        return stub.ModelInfer.future(message, timeout=30)

    running = gates.hold(stub, "level_timeouts")
    waiting = at(2)
    refusal(at(1))
    assert not waiting.done()
    running.finish()
    assert values([waiting]) == [2]


def test_delayed_request_runs_after_those_in_time(server, stub, gates):
    before = failures(server, "delay")
    running = gates.hold(stub, "delay")
    messages = [with_timeout("delay", 0, 50), *(of_gated("delay", [value]) for value in (1, 2)),
                with_timeout("delay", 3, 60), of_gated("delay", [4])]
    futures = enqueue(server, "delay", messages)
    time.sleep(0.1)
    running.finish()
    late, first, second, later, third = turns(futures)
    assert first < second < third < late < later
    assert values(futures) == [0, 1, 2, 3, 4]
    assert failures(server, "delay") == before


def test_delayed_requests_go_on_waiting_behind_a_newer_one(server, stub, gates):
    running = gates.hold(stub, "delay_1s")
    futures = enqueue(server, "delay_1s", [of_gated("delay_1s", [value]) for value in range(3)])
    time.sleep(1.1)
    futures += enqueue(server, "delay_1s", [of_gated("delay_1s", [3])])
    assert pending(server, "delay_1s") == 4
    running.finish()
    assert values(futures) == [0, 1, 2, 3]
    newer = turns(futures).pop()
    assert [newer, *turns(futures[:3])] == sorted(turns(futures))


# Priorities


def test_higher_level_overtakes_and_others_wait_at_the_default_level(server, stub, gates):
    running = gates.hold(stub, "levels")
    priorities = [3, None, 1, 0, 9, 2, 1]
    parameters = [{} if each is None else {"priority": each} for each in priorities]
    futures = enqueue(server, "levels", [of_gated("levels", [i], parameters=each)
                                         for i, each in enumerate(parameters)])
    running.finish()
    order = sorted(range(len(futures)), key=lambda i: turns(futures)[i])
    assert order == [2, 6, 1, 3, 4, 5, 0]


def test_batch_is_filled_from_the_lower_levels(server, stub, gates):
    running = gates.hold(stub, "levels_of_8")
    priorities = [3] * 8 + [1] * 3
    futures = enqueue(server, "levels_of_8", [of_gated("levels_of_8", [each], parameters={"priority": each})
                                              for each in priorities])
    running.finish()
    rows = [answer(each)[0][:2] for each in futures]
    assert rows == [(3, 8)] * 5 + [(3, 3)] * 3 + [(1, 8)] * 3


# Order of the answers


def test_b017_answer_that_is_ready_early_waits_for_those_before_it(server, stub, gates):
    before = counts(stub, "ordered")

    def wait_for_executions(count):
        wait_until(lambda: (counts(stub, "ordered") - before).executions == count, what="the executions")
        # An answer that did not wait would now be on its way.
        time.sleep(0.1)

    slow = [gates.hold(stub, "ordered", value) for value in (0, 1)]
    fast = enqueue(server, "ordered", [of_gated("ordered", [2])])
    slow.append(gates.send(stub, "ordered", 3))
    wait_until(lambda: pending(server, "ordered") == 2, what="two in the queue")
    fast += enqueue(server, "ordered", [of_gated("ordered", [4])])

    slow[1].release()
    wait_until(slow[2].executing, what="the fourth execution")
    wait_for_executions(2)
    assert not any(each.done() for each in [*fast, *(held.future for held in slow)])
    slow[0].release()
    assert values([slow[0].future, slow[1].future, fast[0]]) == [0, 1, 2]
    wait_for_executions(4)
    assert not fast[1].done()
    assert slow[2].finish()[0][0] == 3
    assert values(fast[1:]) == [4]


def test_b017_ordered_answers_belong_to_their_requests(stub):
    # Unary calls of one connection may reach the queue in another order than that of sending.
    messages = [of_probe("ordered_probe", [i], 0 if i % 2 else 20, id=str(i)) for i in range(200)]
    answers = infer_all(stub, messages)
    told = [(each.id, arrays(each)["OUTPUT__0"][0, 0]) for each in answers]
    assert told == [(str(i), i) for i in range(200)]


def test_b017_request_that_was_given_up_does_not_hold_up_the_order(server, stub, gates):
    first = gates.hold(stub, "ordered", 0)
    second = gates.hold(stub, "ordered", 1)
    given_up, last = enqueue(server, "ordered", [of_gated("ordered", [value]) for value in (2, 3)])
    given_up.cancel()
    wait_until(lambda: pending(server, "ordered") == 1, what="the end of the cancelled request")
    second.release()
    wait_until(lambda: pending(server, "ordered") == 0, what="the last request's execution")
    assert not second.future.done() and not last.done()
    assert first.finish()[0][0] == 0
    assert values([second.future, last]) == [1, 3]


def assert_answers_keep_their_order(server, model, first, second, waiting):
    """The first request still runs: what is done after it waits for it, and nothing else does."""
    before = counts(server.stub, model)
    second.release()
    # The second one's own execution and those of all that waited.
    expected = 1 + len(waiting)
    wait_until(lambda: (counts(server.stub, model) - before).executions == expected, what="the executions")
    # An answer that did not wait would now be on its way.
    time.sleep(0.1)
    assert not any(each.done() for each in [first.future, second.future, *waiting])
    first.release()
    assert values([first.future, second.future, *waiting]) == list(range(2 + len(waiting)))


def test_full_queue_is_told_at_once_although_an_earlier_request_runs(server, stub, gates):
    first, second = (gates.hold(stub, "ordered_two", value) for value in (0, 1))
    waiting = enqueue(server, "ordered_two", [of_gated("ordered_two", [value]) for value in (2, 3)])
    for _ in range(3):
        text = refusal(stub.ModelInfer.future(of_gated("ordered_two", [9]), timeout=30))
        assert "Exceeds maximum queue size" in text
    assert_answers_keep_their_order(server, "ordered_two", first, second, waiting)


def test_timeout_is_told_at_once_although_an_earlier_request_runs(server, stub, gates):
    first, second = (gates.hold(stub, "ordered_500ms", value) for value in (0, 1))
    late = [stub.ModelInfer.future(of_gated("ordered_500ms", [9]), timeout=30) for _ in range(3)]
    assert ["Request timeout expired" in refusal(each) for each in late] == [True] * 3
    assert_answers_keep_their_order(server, "ordered_500ms", first, second, [])
    # Those that were refused have left no gap that a later one waits for.
    assert answer(stub.ModelInfer.future(of_gated("ordered_500ms", [4]), timeout=30))[0][0] == 4
