"""Ragged and optional inputs, against TorchScript models."""

from typing import Optional

import grpc
import numpy as np
import pytest
import torch
from ferry_server import FerryServer
from models import Repository, torchscript
from wire import arrays, counts, infer_all, of_arrays, refused

LONG = 20_000_000  # microseconds that no test waits out


class Sums(torch.nn.Module):
    """The sum of each request's elements, found by where they end; and the elements plus one."""

    def forward(self, x: torch.Tensor, ends: torch.Tensor):
        total = torch.cat([torch.zeros(1), x.cumsum(0)])
        at = total[ends.long()]
        return (at[1:] - at[:-1]).unsqueeze(1), x + 1


class Counts(torch.nn.Module):
    """What the batch inputs say, one row for each request."""

    def forward(self, x: torch.Tensor, count: torch.Tensor, longest: torch.Tensor, shape: torch.Tensor):
        rows = count.float().unsqueeze(1)
        return torch.cat([rows, torch.full_like(rows, longest.size(0)), shape.float()], 1)


class Biased(torch.nn.Module):
    def forward(self, x: torch.Tensor, bias: Optional[torch.Tensor] = None):
        rows = torch.full((x.size(0), 1), float(x.size(0)))
        y = x if bias is None else x + bias
        return torch.cat([y, rows], 1)


class Both(torch.nn.Module):
    def forward(self, x: torch.Tensor, bias: torch.Tensor):
        return x + bias


# Input names are those of forward's arguments: the model's own inputs and the batch inputs go by them.
RAGGED = """
max_batch_size: 4
input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true }
dynamic_batching { max_queue_delay_microseconds: %d }
""" % LONG

SUMS = RAGGED + """
batch_input {
  kind: BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO
  target_name: "ends" data_type: TYPE_INT32 source_input: "x"
}
output { name: "sum__0" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "next__1" data_type: TYPE_FP32 dims: [ -1 ] }
batch_output { target_name: "next__1" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "x" }
"""

COUNTS = RAGGED + """
batch_input { kind: BATCH_ELEMENT_COUNT target_name: "count" data_type: TYPE_FP32 source_input: "x" }
batch_input { kind: BATCH_MAX_ELEMENT_COUNT_AS_SHAPE target_name: "longest" data_type: TYPE_FP32 source_input: "x" }
batch_input { kind: BATCH_ITEM_SHAPE target_name: "shape" data_type: TYPE_INT64 source_input: "x" }
output { name: "said" data_type: TYPE_FP32 dims: [ 3 ] }
"""

BIASED = """
max_batch_size: 2
input { name: "x" data_type: TYPE_FP32 dims: [ 1 ] }
input { name: "bias" data_type: TYPE_FP32 dims: [ 1 ] optional: true }
output { name: "y" data_type: TYPE_FP32 dims: [ 2 ] }
dynamic_batching { max_queue_delay_microseconds: %d }
""" % LONG


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    repository = Repository(tmp_path_factory.mktemp("ragged"))
    repository.write("sums", SUMS, torchscript(Sums))
    repository.write("counts", COUNTS, torchscript(Counts))
    repository.write("biased", BIASED, torchscript(Biased))
    repository.write("needs_both", BIASED, torchscript(Both))
    with FerryServer(repository, wait="listening") as server:
        server.wait_for_log("ready: ")
        yield server.stub


def answers(stub, messages):
    responses = infer_all(stub, messages, timeout=15)
    assert not [each for each in responses if isinstance(each, grpc.RpcError)], responses
    return [arrays(each) for each in responses]


def ragged(model, lengths):
    values = [np.arange(1, n + 1, dtype=np.float32)[None] + 10 * n for n in lengths]
    return values, [of_arrays(model, {"x": each}) for each in values]


def test_ragged_requests_run_as_one_and_each_gets_its_own(stub):
    values, messages = ragged("sums", [3, 1, 7, 2])
    before = counts(stub, "sums")
    for x, answer in zip(values, answers(stub, messages)):
        assert answer["sum__0"] == pytest.approx(x.sum(keepdims=True))
        assert answer["next__1"].tolist() == (x + 1).tolist()
    assert (counts(stub, "sums") - before).batches == {4: 1}


def test_batch_inputs_say_what_the_batch_holds(stub):
    _, messages = ragged("counts", [3, 1, 7, 2])
    said = [answer["said"].tolist() for answer in answers(stub, messages)]
    assert said == [[[3, 7, 3]], [[1, 7, 1]], [[7, 7, 7]], [[2, 7, 2]]]


def test_requests_with_and_without_an_optional_input_batch_with_their_like(stub):
    def of(x, bias=None):
        given = {"x": np.array([[x]], np.float32)}
        if bias is not None:
            given["bias"] = np.array([[bias]], np.float32)
        return of_arrays("biased", given)

    got = answers(stub, [of(1), of(2, 0.5), of(3), of(4, 0.25)])
    assert [each["y"].tolist() for each in got] == [[[1, 2]], [[2.5, 2]], [[3, 2]], [[4.25, 2]]]


def test_a_required_input_must_not_be_left_out(stub):
    only_bias = of_arrays("biased", {"bias": np.ones((1, 1), np.float32)})
    text = refused(stub.ModelInfer, only_bias, grpc.StatusCode.INVALID_ARGUMENT)
    assert "missing required input(s) ['x']" in text


def test_an_optional_input_needs_a_default_in_the_model(stub):
    one = of_arrays("needs_both", {"x": np.ones((1, 1), np.float32)})
    refused(stub.ModelInfer, one, grpc.StatusCode.NOT_FOUND)
