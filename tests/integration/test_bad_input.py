"""Hostile sizes, shapes and contents. Each is refused, and costs the server nothing."""

import time

import grpc
import pytest
from models import ADDONE
from wire import (assert_serves, floats, infer, of_rows, one_input, raw_infer, refused, request, squeezed,
                  tensor)

INVALID = grpc.StatusCode.INVALID_ARGUMENT
MEGABYTE = 1 << 20


@pytest.fixture(autouse=True)
def serves_on_afterwards(server):
    yield
    assert_serves(server)


@pytest.mark.parametrize("shape", [[4], [1, 4, 1]])
def test_b016_forgotten_batch_dimension_is_explained(stub, shape):
    details = squeezed(refused(stub.ModelInfer, one_input("addone", shape, floats(1, 2, 3, 4)), INVALID))
    expected = ["INPUT__0", "[-1,4]", squeezed(str(shape)), "batch"]
    assert [word for word in expected if word not in details] == []


@pytest.mark.parametrize("shape", [[-1, 4], [1, -4], [-1, -4], [1, -(2**63)]])
@pytest.mark.parametrize("model", ["var", "addone"])
def test_b028_negative_dimensions_are_refused(stub, model, shape):
    assert "INPUT__0" in refused(stub.ModelInfer, one_input(model, shape, bytes(16)), INVALID)


OVERFLOWS = [
    ("var3", [1, 2**32, 2**32], 0),
    ("var3", [1, 2**62, 4], 0),
    ("var3", [1, 2**62 + 1, 4], 16),
    ("var3", [1, 3037000500, 3037000500], 0),
    ("var", [1, 2**62], 0),
    ("var_unbatched", [2**62], 0),
    ("var", [1, 2**63 - 1], 4),
    # A zero must not hide the product of the others.
    ("var3", [1, 2**62, 0, 4], 0),
]


@pytest.mark.parametrize("model, shape, size", OVERFLOWS)
@pytest.mark.parametrize("typed", [False, True], ids=["raw", "typed"])
def test_b029_overflowing_shapes_are_refused(server, model, shape, size, typed):
    if typed:
        message = request(model, [tensor("INPUT__0", "FP32", shape, fp32_contents=[0.0] * (size // 4))])
    else:
        message = one_input(model, shape, bytes(size))
    before = server.resident_bytes()
    details = refused(server.stub.ModelInfer, message, INVALID)
    assert "INPUT__0" in details
    assert server.resident_bytes() - before < 16 * MEGABYTE


def test_b031_huge_shape_with_few_bytes_is_refused_without_allocating(server):
    before = server.resident_bytes()
    refused(server.stub.ModelInfer, one_input("var", [1, 250_000_000_000], bytes(16)), INVALID)
    assert server.resident_bytes() - before < 16 * MEGABYTE


def test_message_above_the_limit_is_resource_exhausted(start, repository):
    stub = start(repository.add(ADDONE), flags=["--grpc-max-message-size=1048576"]).stub
    message = one_input("addone", [1, 4], bytes(2 * MEGABYTE))
    refused(stub.ModelInfer, message, grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert infer(stub, of_rows("addone", [[1, 2, 3, 4]])).tolist() == [[2, 3, 4, 5]]


# A million entries are built as bytes: a repeated field is its entries one after the other.


GOOD = of_rows("addone", [[1, 2, 3, 4]])


@pytest.mark.parametrize("entry", [
    request("", outputs=["potato"]),
    request("", outputs=["OUTPUT__0"]),
    request("", [tensor("INPUT__0", "FP32", [1, 4])]),
    request("", [tensor("potato", "FP32", [1, 4])]),
    request("", raw=[floats(1, 2, 3, 4)]),
    request("", parameters={"potato": 1}),
], ids=["unknown outputs", "one output", "one input", "unknown inputs", "raw contents", "one parameter"])
def test_b043_enormous_lists_are_refused(server, entry):
    body = GOOD.SerializeToString() + 1_000_000 * entry.SerializeToString()
    begin = time.monotonic()
    refused(raw_infer(server), body, INVALID)
    assert time.monotonic() - begin < 5


def test_a_name_that_is_not_utf8_is_refused_and_not_logged(server):
    lines = len(server.log())
    refused(raw_infer(server), b"\x0a\x02\xff\xfe", INVALID)
    assert len(server.log()) == lines


@pytest.mark.parametrize("body", [b"\xff" * 32, b"\x0a\x06addone\x2a\x7f", b"\x0a\xff\xff\xff\xff\x0f",
                                  b"\x0b" * 10_000], ids=["noise", "cut", "length", "groups"])
def test_bytes_that_are_no_message_are_refused(server, body):
    with pytest.raises(grpc.RpcError) as caught:
        raw_infer(server)(body, timeout=10)
    assert caught.value.code() in (INVALID, grpc.StatusCode.INTERNAL)


# Typed contents

BAD_CONTENTS = {
    "wrong field": ("FP32", {"int64_contents": [1, 2]}),
    "integers for floats": ("FP32", {"int_contents": [1, 2]}),
    "doubles for floats": ("FP32", {"fp64_contents": [1, 2]}),
    "floats for half": ("FP16", {"fp32_contents": [1, 2]}),
    "floats for brain float": ("BF16", {"fp32_contents": [1, 2]}),
    "signed for unsigned": ("UINT8", {"int_contents": [1, 2]}),
    "two fields": ("INT32", {"int_contents": [1, 2], "uint_contents": [1, 2]}),
    "two fields of one element": ("INT32", {"int_contents": [1], "int64_contents": [2]}),
    "bytes for floats": ("FP32", {"bytes_contents": [b"", b""]}),
    "present and empty": ("FP32", {"fp32_contents": []}),
    "too few": ("INT64", {"int64_contents": [1]}),
    "too many": ("BOOL", {"bool_contents": [True, False, True]}),
    "too large for INT8": ("INT8", {"int_contents": [300, 0]}),
    "too small for INT8": ("INT8", {"int_contents": [0, -129]}),
    "too large for INT16": ("INT16", {"int_contents": [32768, 0]}),
    "too large for UINT8": ("UINT8", {"uint_contents": [256, 0]}),
    "too large for UINT16": ("UINT16", {"uint_contents": [0, 65536]}),
}


@pytest.mark.parametrize("fault", BAD_CONTENTS)
def test_b044_wrong_typed_contents_are_refused(stub, fault):
    datatype, contents = BAD_CONTENTS[fault]
    message = request(f"identity_{datatype.lower()}", [tensor("INPUT__0", datatype, [1, 2], **contents)])
    assert "INPUT__0" in refused(stub.ModelInfer, message, INVALID)


ONE_AND_TWO = [tensor("INPUT__0", "FP32", [1, 1]), tensor("INPUT__1", "FP32", [1, 1])]
TYPED = tensor("INPUT__0", "FP32", [1, 1], fp32_contents=[1])


@pytest.mark.parametrize("inputs, raw", [
    (ONE_AND_TWO, 1),
    ([TYPED, ONE_AND_TWO[1]], 2),
    ([TYPED, ONE_AND_TWO[1]], 1),
    (ONE_AND_TWO, 0),
], ids=["one raw entry for two", "typed beside raw", "one typed and one raw", "no data"])
def test_b047_data_that_is_incomplete_or_given_twice_is_refused(stub, inputs, raw):
    refused(stub.ModelInfer, request("two", inputs, [floats(5)] * raw), INVALID)


def test_b041_unknown_output_is_named_in_the_refusal(stub):
    for outputs in (["potato"], ["OUTPUT__0", "potato"]):
        assert "potato" in refused(stub.ModelInfer, of_rows("addone", [[1, 2, 3, 4]], outputs=outputs), INVALID)


@pytest.mark.parametrize("inputs", [20, 2000])
def test_refusals_do_not_grow_with_the_request(stub, inputs):
    message = request("addone", [tensor(f"X{i}" * 10, "FP32", [1, 4]) for i in range(inputs)])
    assert len(refused(stub.ModelInfer, message, INVALID)) < 4096
