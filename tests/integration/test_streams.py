"""ModelStreamInfer: many requests on one call, answered in their order."""

import queue

import grpc
import numpy as np
import pytest
import tritonclient.grpc as tritonclient
from ferry_server import FerryServer, wait_until
from gates import of_gated
from metrics_text import failures, pending, scrape
from models import ADDONE, PROBE, Repository
from tritonclient.grpc import service_pb2 as pb
from wire import TIMEOUT, arrays, of_probe, of_rows

INVALID = grpc.StatusCode.INVALID_ARGUMENT


@pytest.fixture(scope="module")
def server(tmp_path_factory, all_gates):
    repository = Repository(tmp_path_factory.mktemp("streams")).add(
        ADDONE, PROBE.batching("probe_20ms", 20_000), all_gates.model("plain", max_batch_size=1))
    with FerryServer(repository) as server:
        yield server


pytestmark = pytest.mark.usefixtures("gates")


class Stream:
    """A call whose requests are sent one by one."""

    def __init__(self, stub, metadata=None, timeout=TIMEOUT):
        self._requests = queue.Queue()
        self.answers = stub.ModelStreamInfer(iter(self._requests.get, None), timeout=timeout, metadata=metadata)

    def send(self, *messages):
        for message in messages:
            self._requests.put(message)
        return self

    def close(self):
        self._requests.put(None)
        return self


def values(answer):
    assert answer.error_message == ""
    return next(iter(arrays(answer.infer_response).values()))


def good(number):
    return of_rows("addone", [[number] * 4], id=f"good {number}")


def bad(number):
    return of_rows("addone", [[number] * 3], id=f"bad {number}")


def test_answers_come_in_the_order_of_the_requests(stub):
    stream = Stream(stub).send(*[good(i) for i in range(500)]).close()
    answers = list(stream.answers)
    assert [values(each)[0, 0] for each in answers] == [i + 1 for i in range(500)]
    assert [each.infer_response.id for each in answers] == [f"good {i}" for i in range(500)]
    assert all(each.infer_response.parameters["triton_final_response"].bool_param for each in answers)


def test_a_quick_answer_waits_for_the_slow_one_before_it(server, stub, gates):
    held = gates.send(stub, "plain")
    wait_until(held.executing, what="the execution's begin")
    stream = Stream(stub).send(of_gated("plain", [7]), good(1)).close()
    wait_until(lambda: scrape(server).value("nv_inference_request_success", model="addone", version="1") > 0,
               what="the quick answer")
    assert pending(server, "plain") == 1
    held.finish()
    assert [values(each)[0, 0] for each in stream.answers] == [7, 2]


def test_an_error_is_an_answer_and_leaves_the_stream_open(stub):
    stream = Stream(stub).send(bad(1))
    error = next(stream.answers)
    assert "unexpected shape" in error.error_message and "bad 1" in error.error_message
    assert (error.infer_response.id, error.infer_response.model_name) == ("bad 1", "addone")
    stream.send(good(2)).close()
    assert [values(each)[0, 0] for each in stream.answers] == [3]


def test_bytes_that_are_no_request_are_an_answer_too(server):
    call = server.channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer",
                                        response_deserializer=pb.ModelStreamInferResponse.FromString)
    answers = list(call(iter([b"\xff\xff", good(1).SerializeToString()]), timeout=TIMEOUT))
    assert "not a valid ModelInferRequest" in answers[0].error_message
    assert values(answers[1])[0, 0] == 2


def test_an_error_ends_the_stream_where_the_client_asks_for_it(stub):
    stream = Stream(stub, metadata=[("triton_grpc_error", "true")]).send(good(1), bad(2), good(3))
    assert values(next(stream.answers))[0, 0] == 2
    with pytest.raises(grpc.RpcError) as caught:
        next(stream.answers)
    assert caught.value.code() == INVALID and "bad 2" in caught.value.details()


def test_requests_of_one_stream_share_a_batch(stub):
    stream = Stream(stub).send(*[of_probe("probe_20ms", [i]) for i in range(4)]).close()
    rows = [values(each)[0, 1] for each in stream.answers]
    assert max(rows) > 1


def test_a_cancelled_stream_takes_its_requests_out_of_the_queue(server, stub, gates):
    before = failures(server, "plain").get("cancelled", 0)
    held = gates.hold(stub, "plain")
    stream = Stream(stub).send(*[of_gated("plain", [i]) for i in range(3)])
    wait_until(lambda: pending(server, "plain") == 3, what="three in the queue")
    stream.answers.cancel()
    wait_until(lambda: pending(server, "plain") == 0, what="an empty queue")
    wait_until(lambda: failures(server, "plain").get("cancelled", 0) == before + 3, what="three counted")
    held.finish()
    wait_until(lambda: scrape(server).value("ferry_calls_in_flight") == 0, what="no call in flight")


def test_the_stock_client_streams(server):
    answers = queue.Queue()
    with tritonclient.InferenceServerClient(server.address) as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        for i in range(20):
            tensor = tritonclient.InferInput("INPUT__0", [1, 4], "FP32")
            tensor.set_data_from_numpy(np.full((1, 4), i, np.float32))
            client.async_stream_infer("addone", [tensor], request_id=str(i))
        got = [answers.get(timeout=TIMEOUT) for _ in range(20)]
        client.stop_stream()
    assert [error for _, error in got] == [None] * 20
    assert [result.as_numpy("OUTPUT__0")[0, 0] for result, _ in got] == [i + 1 for i in range(20)]
    assert [result.get_response().id for result, _ in got] == [str(i) for i in range(20)]


def test_bounds_of_the_server_are_answered_in_the_stream(start, repository, gates):
    server = start(repository.add(gates.model("plain", max_batch_size=1)), flags=["--max-inflight-calls=2"])
    held = gates.hold(server.stub, "plain")
    stream = Stream(server.stub).send(*[of_gated("plain", [i], id=str(i)) for i in range(3)])
    wait_until(lambda: scrape(server).value("ferry_calls_refused_total", reason="calls") == 2, what="two refused")
    held.finish()
    stream.close()
    errors = [(each.error_message, each.infer_response.id) for each in stream.answers]
    assert errors[0] == ("", "0")
    assert ["maximum of 2 calls in flight" in message for message, _ in errors[1:]] == [True, True]
    assert [id for _, id in errors] == ["0", "1", "2"]
