"""Answers of ModelInfer: values, shapes, order and what is echoed."""

import math

import grpc
import numpy as np
import pytest
from models import ADDONE, DATATYPES, Transpose
from wire import (arrays, infer, infer_all, of_arrays, of_rows, one_input, output, refused, request, tensor)

INVALID = grpc.StatusCode.INVALID_ARGUMENT

# Little-endian elements at the edges of each datatype: least, greatest, -0.0, a subnormal, infinity, NaN.
EDGES = {
    "BOOL": np.array([True, False]),
    "FP16": np.array([-65504, 65504, -0.0, 2**-24, np.inf, np.nan], np.float16),
    "BF16": np.array([0xFF7F, 0x7F7F, 0x8000, 0x0001, 0x7F80, 0x7FC1], np.uint16),
    "FP32": np.array([-3.4e38, 3.4e38, -0.0, 1e-45, np.inf, np.nan], np.float32),
    "FP64": np.array([-1.7e308, 1.7e308, -0.0, 5e-324, np.inf, np.nan]),
}
for _name in (f"{kind}{bits}" for kind in ("INT", "UINT") for bits in (8, 16, 32, 64)):
    _limits = np.iinfo(_name.lower())
    EDGES[_name] = np.array([_limits.min, 0, 1, _limits.max], _limits.dtype)

TYPED_FIELDS = {
    "BOOL": "bool_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "UINT8": "uint_contents", "UINT16": "uint_contents",
    "UINT32": "uint_contents", "UINT64": "uint64_contents", "FP32": "fp32_contents",
    "FP64": "fp64_contents",
}


@pytest.mark.parametrize("datatype", DATATYPES)
def test_b059_raw_contents_round_trip_bit_for_bit(stub, datatype):
    raw, count = EDGES[datatype].tobytes(), len(EDGES[datatype])
    message = one_input(f"identity_{datatype.lower()}", [2, count], raw * 2, datatype=datatype)
    answer = stub.ModelInfer(message, timeout=10)
    assert answer.raw_output_contents == [raw * 2]
    assert (answer.outputs[0].datatype, list(answer.outputs[0].shape)) == (datatype, [2, count])


@pytest.mark.parametrize("datatype", TYPED_FIELDS)
def test_b059_b044_typed_contents_round_trip(stub, datatype):
    values = EDGES[datatype]
    contents = {TYPED_FIELDS[datatype]: values.tolist()}
    message = request(f"identity_{datatype.lower()}", [tensor("INPUT__0", datatype, [1, len(values)], **contents)])
    answer = stub.ModelInfer(message, timeout=10)
    # NaN may change its payload on the way through the client's Python float; nothing else may change.
    np.testing.assert_array_equal(np.frombuffer(answer.raw_output_contents[0], values.dtype), values)


def test_b116_answers_are_raw_with_one_entry_an_output(stub):
    answer = stub.ModelInfer(of_rows("three_out", [[1], [2]]), timeout=10)
    assert [each.HasField("contents") for each in answer.outputs] == [False] * 3
    assert [np.frombuffer(raw, np.float32).tolist() for raw in answer.raw_output_contents] == [
        [2, 3], [3, 4], [4, 5]]


@pytest.mark.parametrize("names", [["OUTPUT__2", "OUTPUT__0"], ["OUTPUT__1"],
                                   ["OUTPUT__1", "OUTPUT__2", "OUTPUT__0"]])
def test_requested_outputs_are_answered_in_the_requested_order(stub, names):
    answer = stub.ModelInfer(of_rows("three_out", [[10]], outputs=names), timeout=10)
    values = {name: array.item() for name, array in arrays(answer).items()}
    assert list(values.items()) == [(name, 11 + int(name[-1])) for name in names]


@pytest.mark.parametrize("id", ["", "abc", "x" * 1024, "naïve-名前-🚢"])
def test_b115_answer_carries_the_request_id_and_the_real_version(stub, id):
    answer = stub.ModelInfer(of_rows("addone", [[1, 2, 3, 4]], id=id), timeout=10)
    assert (answer.id, answer.model_name, answer.model_version) == (id, "addone", "1")


def test_inputs_may_come_in_any_order(stub):
    a, b = tensor("INPUT__0", "FP32", [1, 1]), tensor("INPUT__1", "FP32", [1, 1])
    one, two = np.float32(1).tobytes(), np.float32(2).tobytes()
    assert infer(stub, request("two", [a, b], [one, two])).tolist() == [[12]]
    assert infer(stub, request("two", [b, a], [two, one])).tolist() == [[12]]


def test_model_without_batches_takes_its_dims_as_they_are(stub):
    assert infer(stub, of_rows("addone_unbatched", [1, 2, 3, 4])).tolist() == [2, 3, 4, 5]


def test_message_larger_than_grpcs_default_limit_is_served(stub):
    values = np.arange(3 << 20, dtype=np.float32)
    np.testing.assert_array_equal(infer(stub, of_rows("var_unbatched", values)), values)


def test_b061_infinite_and_undefined_values_arrive_in_raw(stub):
    answer = infer(stub, of_rows("divide_by_zero", [[1, -1, 0, 2]]))[0]
    assert answer[[0, 1, 3]].tolist() == [math.inf, -math.inf, math.inf] and math.isnan(answer[2])


# Tensors without elements


@pytest.mark.parametrize("model, shape", [("var_unbatched", [0]), ("var", [2, 0]), ("var3", [2, 0, 3]),
                                          ("var3", [1, 3, 0])])
@pytest.mark.parametrize("typed", [False, True], ids=["raw", "typed"])
def test_b052_zero_size_input_is_legal(stub, model, shape, typed):
    if typed:
        message = request(model, [tensor("INPUT__0", "FP32", shape, fp32_contents=[])])
    else:
        message = one_input(model, shape, b"")
    answer = stub.ModelInfer(message, timeout=10)
    assert (list(answer.outputs[0].shape), list(answer.raw_output_contents)) == (shape, [b""])


def test_b052_two_empty_inputs_beside_normal_requests(stub):
    empty = of_arrays("two_var", {"INPUT__0": np.zeros((2, 0), np.float32),
                                  "INPUT__1": np.zeros((2, 0), np.float32)})
    full = of_arrays("two_var", {"INPUT__0": np.full((1, 3), 4, np.float32),
                                 "INPUT__1": np.full((1, 3), 2, np.float32)})
    answers = [next(iter(arrays(each).values())).tolist() for each in infer_all(stub, [empty, full] * 10)]
    assert answers == [[[], []], [[42, 42, 42]]] * 10


def test_b053_zero_size_output_is_listed_with_an_empty_payload(stub):
    answer = stub.ModelInfer(of_rows("positives", [-1, -2]), timeout=10)
    assert (list(answer.outputs[0].shape), list(answer.raw_output_contents)) == ([0], [b""])
    assert infer(stub, of_rows("positives", [-1, 5, 0, 7])).tolist() == [5, 7]


# Answers are the request's own


def test_output_that_the_model_changes_later_is_answered_as_it_was(stub):
    first = infer(stub, of_rows("counter", [0])).item()
    answers = infer_all(stub, [of_rows("counter", [0])] * 50)
    assert sorted(arrays(each)["OUTPUT__0"].item() for each in answers) == [first + i for i in range(1, 51)]


def test_b008_batch_sizes_in_any_order_give_right_rows(stub):
    random = np.random.default_rng(8)
    for size in [10, 2, 10, 64, 1, 64, 3] * 20:
        rows = random.standard_normal((size, 4), np.float32)
        np.testing.assert_array_equal(infer(stub, of_rows("addone_64", rows)), rows + 1)


# Classification


def classes(stub, model, rows, count):
    message = of_rows(model, rows, outputs=[output("OUTPUT__0", classification=count)])
    answer = stub.ModelInfer(message, timeout=10)
    assert answer.outputs[0].datatype == "BYTES"
    return list(answer.outputs[0].shape), elements(answer.raw_output_contents[0])


def elements(raw):
    found = []
    while raw:
        size = int.from_bytes(raw[:4], "little")
        found.append(raw[4:4 + size].decode())
        raw = raw[4 + size:]
    return found


def test_classification_gives_the_greatest_values_and_their_index(stub):
    assert classes(stub, "addone", [[1, 4, 3, 2]], 2) == ([1, 2], ["5.000000:1", "4.000000:2"])


def test_classification_of_a_batch_is_by_row(stub):
    assert classes(stub, "addone", [[9, 1, 1, 1], [1, 1, 1, 9]], 1) == (
        [2, 1], ["10.000000:0", "10.000000:3"])


def test_classification_gives_no_more_than_there_are(stub):
    shape, found = classes(stub, "addone_unbatched", [1, 4, 3, 2], 100)
    assert (shape, len(found)) == ([4], 4)


def test_classification_adds_the_labels_of_the_model(start, repository):
    labelled = ADDONE.but(outputs=[("OUTPUT__0", "FP32", [4], 'label_filename: "labels.txt"')])
    folder = repository.write("addone", labelled.config(), labelled.file())
    (folder / "labels.txt").write_text("cat\ndog\nbird\nfish\n")
    stub = start(repository).stub
    assert classes(stub, "addone", [[1, 4, 3, 2]], 2) == ([1, 2], ["5.000000:1:dog", "4.000000:2:bird"])


@pytest.mark.parametrize("count", [0, -1, "two"])
def test_classification_of_no_classes_is_invalid(stub, count):
    message = of_rows("addone", [[1, 2, 3, 4]], outputs=[output("OUTPUT__0", classification=count)])
    assert "classification" in refused(stub.ModelInfer, message, INVALID)


@pytest.mark.parametrize("datatype, size", [("BOOL", 1), ("FP16", 2), ("BF16", 2)])
def test_classification_of_a_datatype_without_text_is_invalid(stub, datatype, size):
    message = one_input(f"identity_{datatype.lower()}", [1, 2], bytes(2 * size), datatype=datatype,
                        outputs=[output("OUTPUT__0", classification=1)])
    refused(stub.ModelInfer, message, INVALID)


def test_reshape_applies_to_inputs_and_outputs(start, repository):
    square = ADDONE.but(
        name="square", module=(Transpose,),
        inputs=[("INPUT__0", "FP32", [4], "reshape { shape: [ 2, 2 ] }")],
        outputs=[("OUTPUT__0", "FP32", [4], "reshape { shape: [ 2, 2 ] }")])
    stub = start(repository.add(square)).stub
    assert infer(stub, of_rows("square", [[1, 2, 3, 4]])).tolist() == [[1, 3, 2, 4]]
