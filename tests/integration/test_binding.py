"""Which input of the config is which argument of forward(), and which output is which result."""

import grpc
import numpy as np
import pytest
from ferry_server import FerryServer
from models import (ADDONE, TWO, DictIn, DictOut, ListOut, Repository, TenTimesAPlusB, ThreeDigits, TupleOut,
                    fp32)
from wire import arrays, index, of_arrays

def inputs_of(name, module, names):
    """A model whose config lists the inputs in this order."""
    return TWO.but(name=name, module=(module,), inputs=[fp32(each, 1) for each in names])


def two(name, names):
    return inputs_of(name, TenTimesAPlusB, names)


def outputs_of(name, module, names):
    return ADDONE.but(name=name, module=(module,), inputs=[fp32("x", 1)], outputs=[fp32(n, 1) for n in names])


GOOD = [
    two("by_index", ["INPUT__1", "INPUT__0"]),
    two("by_argument", ["b", "a"]),
    two("by_order", ["p", "q"]),
    two("by_order_reversed", ["q", "p"]),
    inputs_of("three", ThreeDigits, ["ones", "hundreds", "tens"]),
    inputs_of("dict_in", DictIn, ["ones", "tens"]),
    inputs_of("dict_in_other_key", DictIn, ["ones", "hundreds"]),
    outputs_of("dict_out", DictOut, ["half", "double"]),
    outputs_of("dict_out_one", DictOut, ["double"]),
    outputs_of("tuple_out", TupleOut, ["OUTPUT__2", "OUTPUT__0", "OUTPUT__1"]),
    outputs_of("tuple_out_gap", TupleOut, ["OUTPUT__2", "OUTPUT__0"]),
    outputs_of("tuple_out_by_order", TupleOut, ["first", "second", "third"]),
    outputs_of("list_out", ListOut, ["OUTPUT__1", "OUTPUT__2", "OUTPUT__0"]),
]
BAD = {
    # name: (model, a word of the reason)
    "index_and_argument": (two("index_and_argument", ["INPUT__0", "b"]), "'b'"),
    "index_and_free": (two("index_and_free", ["INPUT__1", "q"]), "'q'"),
    "index_twice": (two("index_twice", ["A__0", "B__0"]), "B__0"),
    "index_too_high": (two("index_too_high", ["INPUT__0", "INPUT__2"]), "INPUT__2"),
    "too_few_inputs": (two("too_few_inputs", ["a"]), "'b'"),
    "too_many_inputs": (two("too_many_inputs", ["a", "b", "c"]), "'c'"),
    "dict_out_key_unknown": (outputs_of("dict_out_key_unknown", DictOut, ["double", "third"]), "third"),
    "output_index_too_high": (outputs_of("output_index_too_high", TupleOut, ["OUTPUT__0", "OUTPUT__3"]),
                              "OUTPUT__3"),
    "more_outputs_than_results": (outputs_of("more_outputs_than_results", TupleOut, ["a", "b", "c", "d"]), "'d'"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = Repository(tmp_path_factory.mktemp("binding")).add(*GOOD, *(model for model, _ in BAD.values()))
    with FerryServer(repository) as server:
        yield server


def answer(stub, model, **inputs):
    """Each input is one number, sent in the order given here; the outputs are numbers too."""
    message = of_arrays(model, {name: np.array([[value]], np.float32) for name, value in inputs.items()})
    response = stub.ModelInfer(message, timeout=10)
    return {name: value.item() for name, value in arrays(response).items()}


@pytest.mark.parametrize("model, first, second", [
    ("by_index", "INPUT__0", "INPUT__1"),
    ("by_argument", "a", "b"),
    ("by_order", "p", "q"),
    ("by_order_reversed", "q", "p"),
])
def test_b064_inputs_reach_their_arguments(stub, model, first, second):
    assert answer(stub, model, **{first: 1, second: 2}) == {"OUTPUT__0": 12}
    assert answer(stub, model, **{second: 2, first: 1}) == {"OUTPUT__0": 12}


def test_three_inputs_are_bound_by_argument_name(stub):
    assert answer(stub, "three", tens=2, ones=3, hundreds=1) == {"OUTPUT__0": 123}


def test_inputs_are_the_keys_of_a_dict_argument(stub):
    assert answer(stub, "dict_in", ones=3, tens=4) == {"OUTPUT__0": 43}


def test_key_that_the_model_misses_is_named_to_the_client(stub):
    # Only running the model can tell, and its refusal of made-up values must not fail the load.
    with pytest.raises(grpc.RpcError) as caught:
        answer(stub, "dict_in_other_key", ones=3, hundreds=4)
    assert caught.value.code() == grpc.StatusCode.INTERNAL and "tens" in caught.value.details()


def test_outputs_are_the_keys_of_a_dict(stub):
    assert list(answer(stub, "dict_out", x=8).items()) == [("half", 4), ("double", 16)]
    assert answer(stub, "dict_out_one", x=8) == {"double": 16}


@pytest.mark.parametrize("model", ["tuple_out", "list_out"])
def test_outputs_are_bound_by_index(stub, model):
    assert answer(stub, model, x=10) == {"OUTPUT__0": 11, "OUTPUT__1": 12, "OUTPUT__2": 13}


def test_outputs_that_the_config_leaves_out_are_dropped(stub):
    assert answer(stub, "tuple_out_gap", x=10) == {"OUTPUT__0": 11, "OUTPUT__2": 13}


def test_outputs_with_free_names_are_bound_in_order(stub):
    assert answer(stub, "tuple_out_by_order", x=10) == {"first": 11, "second": 12, "third": 13}


def test_binding_by_order_is_a_warning_that_names_the_model(server):
    warnings = [line for line in server.log() if "by_order" in line and "order" in line.replace("by_order", "")]
    assert warnings
    assert not [line for line in server.log() if "by_argument" in line and "order" in line]


@pytest.mark.parametrize("name", BAD)
def test_b064_names_that_cannot_be_bound_fail_the_load(stub, name):
    (entry,) = index(stub)[name]
    assert entry.state == "UNAVAILABLE"
    assert BAD[name][1] in entry.reason and entry.reason
