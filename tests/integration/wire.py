"""Requests as protobuf messages, so that a test can send what stock clients refuse to build."""

import dataclasses
import threading
import time

import grpc
import numpy as np
import pytest
from tritonclient.grpc import service_pb2 as pb
from tritonclient.utils import np_to_triton_dtype, triton_to_np_dtype

# A call that takes longer hangs.
TIMEOUT = 30

PARAMETER_KINDS = {bool: "bool_param", int: "int64_param", str: "string_param", float: "double_param"}


def fill_parameters(target, parameters):
    """A value is a bool, int, str or float, or (kind, value) to choose the oneof's member."""
    for key, value in parameters.items():
        kind, value = value if isinstance(value, tuple) else (PARAMETER_KINDS[type(value)], value)
        setattr(target[key], kind, value)


def tensor(name, datatype, shape, parameters=None, **contents):
    """An input; `contents` are fields of InferTensorContents."""
    message = pb.ModelInferRequest.InferInputTensor(name=name, datatype=datatype, shape=shape)
    for field, values in contents.items():
        message.contents.SetInParent()
        getattr(message.contents, field).extend(values)
    fill_parameters(message.parameters, parameters or {})
    return message


def output(name, **parameters):
    message = pb.ModelInferRequest.InferRequestedOutputTensor(name=name)
    fill_parameters(message.parameters, parameters)
    return message


def request(model, inputs=(), raw=(), outputs=(), version="", id="", parameters=None):
    message = pb.ModelInferRequest(
        model_name=model, model_version=version, id=id, inputs=inputs, raw_input_contents=raw,
        outputs=[each if not isinstance(each, str) else output(each) for each in outputs])
    fill_parameters(message.parameters, parameters or {})
    return message


def floats(*values):
    return np.array(values, np.float32).tobytes()


def one_input(model, shape, raw, name="INPUT__0", datatype="FP32", **fields):
    """A request with a single raw input."""
    return request(model, [tensor(name, datatype, shape)], [raw], **fields)


def of_arrays(model, arrays, **fields):
    """A correct request made of numpy arrays."""
    inputs = [tensor(name, np_to_triton_dtype(array.dtype), array.shape) for name, array in arrays.items()]
    return request(model, inputs, [array.tobytes() for array in arrays.values()], **fields)


def of_rows(model, rows, name="INPUT__0", **fields):
    return of_arrays(model, {name: np.asarray(rows, np.float32)}, **fields)


def of_probe(model, values, steps=0, **fields):
    """One row a value; each row asks the model for `steps` steps of work."""
    rows = np.array([[value, 0] for value in values], np.float32)
    return of_arrays(model, {"X": rows, "N": np.full((len(rows), 1), steps, np.int64)}, **fields)


def arrays(response):
    """The outputs as numpy arrays by name."""
    assert len(response.raw_output_contents) == len(response.outputs)
    return {
        each.name: np.frombuffer(raw, triton_to_np_dtype(each.datatype)).reshape(list(each.shape))
        for each, raw in zip(response.outputs, response.raw_output_contents)
    }


def infer(stub, message, timeout=TIMEOUT):
    """The first output of an answer as an array."""
    return next(iter(arrays(stub.ModelInfer(message, timeout=timeout)).values()))


def raw_infer(server):
    """ModelInfer that takes the bytes of a message, well-formed or not."""
    return server.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")


def probe_steps(stub, model, seconds):
    """How many steps of a probe take this long: that depends on the machine and its load."""
    sample = 1000
    times = []
    for _ in range(3):
        begin = time.monotonic()
        infer(stub, of_probe(model, [0], sample))
        times.append(time.monotonic() - begin)
    # By the fastest: the work must last at least this long.
    return int(sample * seconds / min(times))


def infer_all(stub, messages, timeout=TIMEOUT):
    """Sends the messages at once; answers or errors in the order of the messages."""
    futures = [stub.ModelInfer.future(message, timeout=timeout) for message in messages]
    return [future.exception() or future.result() for future in futures]


def run_threads(count, work):
    """Runs work(i) in threads; the first error is the test's."""
    errors = []

    def guarded(i):
        try:
            work(i)
        except BaseException as error:  # An assertion in a thread would otherwise be lost.
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Pipeline:
    """Keeps some requests on their way: when one is answered the next one leaves."""

    def __init__(self, stub, messages, width, timeout=TIMEOUT):
        self._stub, self._messages, self._timeout = stub, iter(messages), timeout
        self._changed = threading.Condition()
        self._open, self._under_way = True, 0
        self.answered, self._errors = 0, []
        for _ in range(width):
            self._send()

    def _send(self):
        with self._changed:
            if not self._open:
                return
            self._under_way += 1
            message = next(self._messages)
        self._stub.ModelInfer.future(message, timeout=self._timeout).add_done_callback(self._note)

    def _note(self, future):
        error = future.exception()
        with self._changed:
            self._under_way -= 1
            self.answered += 1
            if error is not None:
                self._errors.append(error)
            self._changed.notify_all()
        self._send()

    def wait_for(self, answers, timeout=60):
        with self._changed:
            assert self._changed.wait_for(lambda: self.answered >= answers or self._errors, timeout)
            assert self._errors == []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self._changed:
            self._open = False
            self._changed.wait_for(lambda: self._under_way == 0, self._timeout)


def paced(count, interval, send):
    """Calls send(i) at an even rate."""
    begin = time.perf_counter()
    for i in range(count):
        time.sleep(max(0, begin + i * interval - time.perf_counter()))
        send(i)


def refused(call, message, code, timeout=10):
    """Asserts that the call fails with this code and returns the text of the refusal."""
    with pytest.raises(grpc.RpcError) as caught:
        call(message, timeout=timeout)
    assert caught.value.code() == code, caught.value.details()
    assert caught.value.details(), "a refusal says why"
    return caught.value.details()


def squeezed(text):
    return text.replace(" ", "")


def assert_serves(server):
    """The process that the test began with still answers."""
    server.assert_alive()
    answer = infer(server.stub, of_rows("addone", [[1, 2, 3, 4]]), timeout=10)
    assert answer.tolist() == [[2, 3, 4, 5]]


@dataclasses.dataclass
class Counts:
    """What ModelStatistics has counted for one model."""

    success: int
    fail: int
    rows: int
    executions: int
    batches: dict
    queue_ns: int

    def __sub__(self, other):
        sizes = {size: count - other.batches.get(size, 0) for size, count in self.batches.items()}
        return Counts(self.success - other.success, self.fail - other.fail, self.rows - other.rows,
                      self.executions - other.executions,
                      {size: count for size, count in sizes.items() if count},
                      self.queue_ns - other.queue_ns)


def statistics(stub, model, version=""):
    answer = stub.ModelStatistics(pb.ModelStatisticsRequest(name=model, version=version), timeout=10)
    assert len(answer.model_stats) == 1
    return answer.model_stats[0]


def counts(stub, model):
    read = statistics(stub, model)
    return Counts(read.inference_stats.success.count, read.inference_stats.fail.count,
                  read.inference_count, read.execution_count,
                  {each.batch_size: each.compute_infer.count for each in read.batch_stats},
                  read.inference_stats.queue.ns)


def index(stub, ready=False):
    """Name -> its entries in the repository index."""
    entries = {}
    for entry in stub.RepositoryIndex(pb.RepositoryIndexRequest(ready=ready), timeout=10).models:
        entries.setdefault(entry.name, []).append(entry)
    return entries
