"""ferry.pad: requests of different lengths share an execution, and each gets what it would get alone."""

import os
import pathlib

import grpc
import numpy as np
import pytest
import torch
from ferry_server import ROOT, FerryServer
from metrics_text import scrape
from models import DATATYPES, RZ, Model, Repository, fp32, identity, parameter, tensor
from wire import arrays, counts, index, infer_all, of_arrays, of_rows, one_input

INTERNAL = grpc.StatusCode.INTERNAL

# A delay that no test waits out: what is answered was sent because its batch was full.
LONG = 20_000_000


class Seen(torch.nn.Module):
    """What follows the length in one and in two dimensions, what the model saw, and what is not cut back."""

    def forward(self, x: torch.Tensor):
        extent = torch.full([x.size(0)], float(x.size(1)))
        said = torch.stack([x.sum(1), extent, torch.full_like(extent, float(x.size(0)))], 1)
        return x + 1, torch.stack([x, -x], 2), said, x * 10


class SumsAndExtents(torch.nn.Module):
    """For each row the sum and the number of the elements of both inputs."""

    def forward(self, a: torch.Tensor, b: torch.Tensor):
        one = torch.ones([a.size(0)])
        return torch.stack([a.sum(1), one * a.size(1), b.sum(1), one * b.size(1)], 1)


class PlusOneAndSum(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x + 1, x.flatten(1).sum(1, keepdim=True)


class FirstOnly(torch.nn.Module):
    """Its output does not follow the length of its input."""

    def forward(self, x: torch.Tensor):
        return x[:, :1] + 0


SEEN = Model("seen", (Seen,), [fp32("INPUT__0", -1)],
             [fp32("NEXT__0", -1), fp32("PAIRS__1", -1, 2), fp32("SAID__2", 3), fp32("WHOLE__3", -1)])
CUTS = "NEXT__0:0=INPUT__0:0 PAIRS__1:0=INPUT__0:0"
VAR_RZ = RZ.but(inputs=[fp32("INPUT__0", -1)], outputs=[fp32("OUTPUT__0", -1)])


def padded(model, name, pad, lengths=None, cut=None, delay=LONG, **changes):
    settings = {"ferry.pad": pad, "ferry.pad_lengths": lengths, "ferry.pad_cut": cut}
    extra = "\n".join(parameter(key, text) for key, text in settings.items() if text is not None)
    return model.but(extra=extra, **changes).batching(name, delay)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    two = Model("two", (SumsAndExtents,), [fp32("A__0", -1), fp32("B__1", -1)], [fp32("SAID__0", 4)])
    plane = Model("plane", (PlusOneAndSum,), [fp32("INPUT__0", -1, -1)],
                  [fp32("NEXT__0", -1, -1), fp32("SUM__1", 1)])
    repository = Repository(tmp_path_factory.mktemp("padding")).add(
        SEEN.but(name="alone"),
        padded(SEEN, "seen", "INPUT__0:0=7", "8, 4", CUTS),
        padded(SEEN, "usual", "INPUT__0:0", delay=0),
        padded(two, "two", "A__0:0=3 B__1:0=-0.5", "4 8"),
        padded(two, "one_of_two", "A__0:0", "4 8"),
        padded(plane, "plane", "INPUT__0:0=5 INPUT__0:1=5", "2 4",
               "NEXT__0:0=INPUT__0:0 NEXT__0:1=INPUT__0:1"),
        padded(plane, "width", "INPUT__0:1=5", "2 4", "NEXT__0:1=INPUT__0:1"),
        padded(VAR_RZ, "rz", "INPUT__0:0", "4", "OUTPUT__0:0=INPUT__0:0"),
        padded(VAR_RZ, "negative", "INPUT__0:0=-1", "4", "OUTPUT__0:0=INPUT__0:0", delay=0),
        padded(VAR_RZ, "first", "INPUT__0:0", "4", "OUTPUT__0:0=INPUT__0:0", delay=0, module=(FirstOnly,)),
        *(padded(identity(datatype), f"pad_{datatype}", f"INPUT__0:0={text}", "4", delay=0)
          for datatype, (text, _) in PAD_VALUES.items()),
    )
    with FerryServer(repository) as server:
        yield server


def answered(responses):
    assert not [each for each in responses if isinstance(each, grpc.RpcError)], responses
    return [arrays(each) for each in responses]


def run(stub, model, rows, batches):
    """The answers to requests that must be executed in batches of these sizes (rows -> executions)."""
    before = counts(stub, model)
    responses = answered(infer_all(stub, [of_rows(model, each) for each in rows], timeout=15))
    assert (counts(stub, model) - before).batches == batches
    return responses


def of_length(length, value, rows=1):
    """Rows that tell each element of each request from all others."""
    return value * 100 + np.arange(rows * length, dtype=np.float32).reshape(rows, length)


def each_of(*lengths):
    return [of_length(length, value) for value, length in enumerate(lengths, 1)]


def assert_as_alone(stub, rows, answers):
    """What follows the length is what the same request gets from the model without padding or batching."""
    alone = answered([stub.ModelInfer(of_rows("alone", each), timeout=15) for each in rows])
    for own, expected in zip(answers, alone):
        for name in ("NEXT__0", "PAIRS__1"):
            np.testing.assert_array_equal(own[name], expected[name], strict=True)


# Who shares an execution, and what everybody gets


@pytest.mark.parametrize("lengths", [
    [1, 2, 3, 4, 4, 3, 2, 1], [4] * 8, [1] * 8, [5, 8, 6, 7, 8, 5, 5, 6], [0, 4, 1, 0, 2, 0, 3, 0], [0] * 8],
    ids=str)
def test_lengths_of_one_bucket_share_an_execution_and_each_gets_its_own(stub, lengths):
    rows = each_of(*lengths)
    assert_as_alone(stub, rows, run(stub, "seen", rows, {8: 1}))


def test_requests_of_several_rows_are_padded_and_cut_row_by_row(stub):
    rows = [of_length(length, value, rows=value) for value, length in [(2, 3), (1, 0), (3, 1), (2, 4)]]
    answers = run(stub, "seen", rows, {8: 1})
    assert_as_alone(stub, rows, answers)
    assert [each["SAID__2"].shape for each in answers] == [(2, 3), (1, 3), (3, 3), (2, 3)]


def test_lengths_of_different_buckets_do_not_share(stub):
    rows = each_of(*[4, 5] * 8)
    answers = run(stub, "seen", rows, {8: 2})
    assert_as_alone(stub, rows, answers)
    assert [each["SAID__2"][0, 1] for each in answers] == [4, 8] * 8


def test_longer_than_the_last_length_runs_unpadded_with_its_like(stub):
    rows = each_of(*[9, 10] * 8)
    answers = run(stub, "seen", rows, {8: 2})
    assert_as_alone(stub, rows, answers)
    for sent, own in zip(rows, answers):
        assert own["SAID__2"].tolist() == [[sent.sum(), sent.size, 8]]
        np.testing.assert_array_equal(own["WHOLE__3"], sent * 10, strict=True)


def test_model_sees_the_value_where_the_request_has_nothing(stub):
    # The first leave large numbers where the others have their padding.
    run(stub, "seen", [np.full((1, 4), 1e6)] * 8, {8: 1})
    rows = each_of(1, 2, 3, 4, 0, 1, 2, 3)
    for sent, own in zip(rows, run(stub, "seen", rows, {8: 1})):
        assert own["SAID__2"].tolist() == [[sent.sum() + 7 * (4 - sent.size), 4, 8]]


def test_output_that_is_not_cut_back_keeps_the_padded_extent(stub):
    rows = each_of(1, 2, 3, 4, 0, 1, 2, 3)
    for sent, own in zip(rows, run(stub, "seen", rows, {8: 1})):
        assert own["WHOLE__3"].tolist() == [[*sent[0] * 10, *[70.0] * (4 - sent.size)]]


def test_request_gets_the_outputs_that_it_asked_for(stub):
    wanted = [["PAIRS__1"], ["WHOLE__3", "NEXT__0"], ["SAID__2"], []] * 2
    rows = each_of(1, 2, 3, 4, 4, 3, 2, 1)
    messages = [of_rows("seen", sent, outputs=names) for sent, names in zip(rows, wanted)]
    answers = answered(infer_all(stub, messages, timeout=15))
    for sent, names, own in zip(rows, wanted, answers):
        length = sent.size
        shapes = {"NEXT__0": (1, length), "PAIRS__1": (1, length, 2), "SAID__2": (1, 3), "WHOLE__3": (1, 4)}
        assert {name: array.shape for name, array in own.items()} == {
            name: shapes[name] for name in names or shapes}


@pytest.mark.parametrize("length, extent", [
    (0, 8), (1, 8), (8, 8), (9, 16), (17, 24), (25, 32), (33, 48), (49, 64), (65, 96), (97, 128), (128, 128),
    (129, 192), (5000, 6144)])
def test_usual_lengths_are_at_most_half_as_long_again(stub, length, extent):
    (own,) = run(stub, "usual", [np.ones((1, length))], {1: 1})
    # Without a value the padding is zeros.
    assert own["SAID__2"].tolist() == [[length, extent, 1]]


# Several inputs, several dimensions


def of_two(model, first, second, rows=1):
    lengths = {"A__0": first, "B__1": second}
    return of_arrays(model, {name: np.ones((rows, length), np.float32) for name, length in lengths.items()})


def test_inputs_are_padded_each_with_its_own_value(stub):
    before = counts(stub, "two")
    lengths = [(1, 5), (4, 8), (2, 6), (3, 7), (0, 5), (4, 8), (4, 5), (1, 8)]
    answers = answered(infer_all(stub, [of_two("two", *each) for each in lengths], timeout=15))
    assert (counts(stub, "two") - before).batches == {8: 1}
    for (first, second), own in zip(lengths, answers):
        assert own["SAID__0"].tolist() == [[first + 3 * (4 - first), 4, second - 0.5 * (8 - second), 8]]


def test_requests_share_only_if_all_their_padded_extents_agree(stub):
    before = counts(stub, "two")
    lengths = [(1, 2), (1, 6), (6, 1), (3, 4), (4, 8), (8, 4)] * 4
    answers = answered(infer_all(stub, [of_two("two", *each) for each in lengths], timeout=15))
    assert (counts(stub, "two") - before).batches == {8: 3}
    extents = [tuple(own["SAID__0"][0, [1, 3]]) for own in answers]
    assert extents == [(4, 4), (4, 8), (8, 4), (4, 4), (4, 8), (8, 4)] * 4


def test_input_that_is_not_padded_must_agree_exactly(stub):
    before = counts(stub, "one_of_two")
    lengths = [(1 + i % 4, 3 + i % 2) for i in range(16)]
    answers = answered(infer_all(stub, [of_two("one_of_two", *each) for each in lengths], timeout=15))
    assert (counts(stub, "one_of_two") - before).batches == {8: 2}
    said = [own["SAID__0"].tolist() for own in answers]
    assert said == [[[first, 4, second, second]] for first, second in lengths]


def planes(*shapes):
    return [value * 100 + np.arange(np.prod(shape), dtype=np.float32).reshape(1, *shape)
            for value, shape in enumerate(shapes, 1)]


def test_both_extents_of_a_plane_are_padded_and_cut_back(stub):
    rows = planes((1, 3), (2, 4), (2, 3), (0, 4), (1, 4), (2, 4), (1, 3), (2, 3))
    for sent, own in zip(rows, run(stub, "plane", rows, {8: 1})):
        np.testing.assert_array_equal(own["NEXT__0"], sent + 1, strict=True)
        assert own["SUM__1"].tolist() == [[sent.sum() + 5 * (2 * 4 - sent.size)]]


def test_transposed_planes_do_not_share(stub):
    rows = planes(*[(2, 4), (4, 2)] * 8)
    for sent, own in zip(rows, run(stub, "plane", rows, {8: 2})):
        np.testing.assert_array_equal(own["NEXT__0"], sent + 1, strict=True)


def test_inner_extent_is_padded_while_the_outer_one_must_agree(stub):
    rows = planes(*[(3, 3), (5, 4)] * 8)
    for sent, own in zip(rows, run(stub, "width", rows, {8: 2})):
        np.testing.assert_array_equal(own["NEXT__0"], sent + 1, strict=True)
        assert own["SUM__1"].tolist() == [[sent.sum() + 5 * (4 * sent.shape[1] - sent.size)]]


# How the value is written in the configuration, and its bytes; floating point of 16 bits has only zero.
PAD_VALUES = {
    "BOOL": ("0", b"\0"), "FP16": ("0", b"\0\0"), "BF16": ("0", b"\0\0"),
    "FP32": ("-2.5", np.float32(-2.5).tobytes()), "FP64": ("1e300", np.float64(1e300).tobytes()),
    **{f"INT{bits}": ("-3", (-3).to_bytes(bits // 8, "little", signed=True)) for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": (str(2**bits - 2), (2**bits - 2).to_bytes(bits // 8, "little"))
       for bits in (8, 16, 32, 64)},
}


@pytest.mark.parametrize("datatype", DATATYPES)
def test_every_type_is_padded_with_its_value(stub, datatype):
    _, element = PAD_VALUES[datatype]
    sent = b"\1" * len(element)
    message = one_input(f"pad_{datatype}", [1, 1], sent, datatype=datatype)
    response = stub.ModelInfer(message, timeout=15)
    assert list(response.outputs[0].shape) == [1, 4]
    assert response.raw_output_contents[0] == sent + 3 * element


# Failures


def test_poisoned_request_fails_alone_among_padded_ones(stub):
    rows = each_of(1, 2, 3, 4, 4, 3, 2, 1)
    rows[5] = np.array([[1, -1, 1]], np.float32)
    responses = infer_all(stub, [of_rows("rz", each) for each in rows], timeout=15)
    poisoned = responses.pop(5)
    assert isinstance(poisoned, grpc.RpcError) and poisoned.code() == INTERNAL
    del rows[5]
    for sent, own in zip(rows, answered(responses)):
        np.testing.assert_array_equal(own["OUTPUT__0"], sent + 1, strict=True)


def test_padding_that_the_model_refuses_fails_the_request(stub):
    full, short = infer_all(stub, [of_rows("negative", np.ones((1, length))) for length in (4, 3)])
    assert arrays(full)["OUTPUT__0"].tolist() == [[2] * 4]
    assert isinstance(short, grpc.RpcError) and short.code() == INTERNAL
    assert "negative input" in short.details()


def test_output_that_does_not_follow_its_input_is_no_answer(stub):
    full, error = infer_all(stub, [of_rows("first", np.ones((1, length))) for length in (1, 2)])
    for each in (full, error):
        assert isinstance(each, grpc.RpcError) and each.code() == INTERNAL
        text = each.details().replace(" ", "")
        assert "OUTPUT__0" in text and "[1,4]" in text and "[1,1]" in text


# Figures


def elements(server, model):
    """(those of the requests, those that were added)"""
    metrics = scrape(server)
    return np.array([metrics.value(f"ferry_{kind}_elements_total", model=model, version="1")
                     for kind in ("input", "padding")])


@pytest.mark.parametrize("lengths, extent", [
    ([1, 2, 3, 4, 4, 3, 2, 1], 4), ([0] * 8, 4), ([8] * 8, 8), ([9] * 8, 9)], ids=str)
def test_elements_and_padding_are_counted(server, stub, lengths, extent):
    before = elements(server, "seen")
    run(stub, "seen", each_of(*lengths), {8: 1})
    assert (elements(server, "seen") - before).tolist() == [sum(lengths), 8 * extent - sum(lengths)]


def test_elements_of_all_inputs_and_rows_are_counted(server, stub):
    before, elements_before = counts(stub, "two"), elements(server, "two")
    answered(infer_all(stub, [of_two("two", 3, 6, rows=2)] * 4, timeout=15))
    assert (elements(server, "two") - elements_before).tolist() == [8 * (3 + 6), 8 * (1 + 2)]
    # Padding is no rows.
    counted = counts(stub, "two") - before
    assert (counted.success, counted.rows, counted.executions) == (4, 8, 1)


# Configurations that are refused: parameters, and what the reason says.

PADDED = {"ferry.pad": "INPUT__0:0"}
REFUSED = {
    "no_dimension": ({"ferry.pad": "INPUT__0"}, "'INPUT__0': must be <input>:<dimension>"),
    "no_such_input": ({"ferry.pad": "X:0=0"}, "'X:0': must be <input>:<dimension>, where the input exists"),
    "dimension_too_high": ({"ferry.pad": "INPUT__0:1"}, "'INPUT__0:1': the dimension must be a variable one"),
    "dimension_is_no_number": ({"ferry.pad": "INPUT__0:x"}, "'INPUT__0:x': the dimension must be a variable"),
    "fixed_dimension": ({"ferry.pad": "FIXED__1:0"}, "of dims [4], counted from 0"),
    "no_value": ({"ferry.pad": "INPUT__0:0="}, "no value of type FP32 to pad with"),
    "value_of_another_type": ({"ferry.pad": "INPUT__0:0=zero"}, "'zero': no value of type FP32 to pad with"),
    "two_values": ({"ferry.pad": "INPUT__0:0=0 INPUT__0:0=0"}, "the input has another padding too"),
    "lengths_without_pad": (
        {"ferry.pad_lengths": "8 16"}, "parameter ferry.pad_lengths '8 16': only with ferry.pad"),
    "cut_without_pad": ({"ferry.pad_cut": "OUTPUT__0:0=INPUT__0:0"}, "only with ferry.pad"),
    "no_length": ({**PADDED, "ferry.pad_lengths": " "}, "at least one length is needed"),
    "length_zero": ({**PADDED, "ferry.pad_lengths": "8 0"}, "'0': must be a number from 1"),
    "length_is_no_number": ({**PADDED, "ferry.pad_lengths": "8;16"}, "'8;16': must be a number from 1"),
    "cut_of_no_output": ({**PADDED, "ferry.pad_cut": "Y:0=INPUT__0:0"}, "where the output exists"),
    "cut_by_no_input": ({**PADDED, "ferry.pad_cut": "OUTPUT__0:0=X:0"}, "where the input exists"),
    "cut_by_nothing": ({**PADDED, "ferry.pad_cut": "OUTPUT__0:0"}, "must be <input>:<dimension>"),
    "cut_by_unpadded": ({**PADDED, "ferry.pad_cut": "OUTPUT__0:0=OTHER__2:0"},
                        "'OUTPUT__0:0=OTHER__2:0': the input's dimension is not in ferry.pad"),
    "misspelt": ({"ferry.pads": "INPUT__0:0"}, "'ferry.pads' is unknown; there are ferry.batch_sizes, "),
}


class FirstOfThree(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor):
        return a


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    inputs = [fp32("INPUT__0", -1), fp32("FIXED__1", 4), fp32("OTHER__2", -1)]
    model = Model("", (FirstOfThree,), inputs, [fp32("OUTPUT__0", -1)])
    pad = parameter("ferry.pad", "INPUT__0:0")
    repository = Repository(tmp_path_factory.mktemp("refusing"))
    for name, (parameters, _) in REFUSED.items():
        extra = "\n".join(parameter(*each) for each in parameters.items())
        repository.add(model.but(extra=extra).batching(name))
    repository.add(model.but(name="no_batching", extra=pad), identity("BOOL").but(
        extra=parameter("ferry.pad", "INPUT__0:0=1")).batching("bool_one"),
        model.but(extra=pad).batching("sound"))
    with FerryServer(repository) as server:
        yield server


def reason(server, model):
    (entry,) = index(server.stub)[model]
    return "" if entry.state == "READY" else entry.reason


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_padding_is_refused_by_parameter_and_part(refusing, name):
    parameters, words = REFUSED[name]
    text = reason(refusing, name)
    assert words.replace(" ", "") in text.replace(" ", "") and list(parameters)[-1] in text


def test_padding_wants_dynamic_batching(refusing):
    assert "only with max_batch_size > 0 and dynamic_batching" in reason(refusing, "no_batching")


def test_type_without_numbers_is_padded_only_with_zero(refusing):
    assert "'1': no value of type BOOL to pad with" in reason(refusing, "bool_one")


def test_same_model_with_sound_padding_is_served(refusing):
    assert reason(refusing, "sound") == ""


# A real model

MINILM_FILE = ROOT / "models" / "minilm" / "1" / "model.pt"


def add_minilm(repository, model):
    """A link to the weights, which are large."""
    folder = repository.write(model.name, model.config()) / "1"
    folder.mkdir()
    os.symlink(MINILM_FILE, pathlib.Path(folder, "model.pt"))


@pytest.fixture
def sentences():
    """Requests of lengths from 5 to 128, some of them with a mask that ends before they do."""
    random = np.random.default_rng(1)
    lengths = [5, 128, 15, 16, 17, *random.integers(5, 129, 59)]
    inputs = []
    for i, length in enumerate(lengths):
        mask = np.ones((1, length), np.int64)
        mask[0, length - i % 4:] = 0
        inputs.append({"input_ids": random.integers(1000, 20000, (1, length)), "attention_mask": mask})
    return inputs


@pytest.mark.skipif(not MINILM_FILE.exists(), reason=f"{MINILM_FILE} is missing: scripts/setup exports it")
def test_sentence_embeddings_are_those_without_padding(start, repository, sentences):
    names = ["input_ids", "attention_mask"]
    # One thread: products shared between threads that others crowd out take a hundred times as long.
    minilm = Model("plain", (), [tensor(name, "INT64", -1) for name in names], [fp32("embedding", 384)],
                   max_batch_size=16, threads=1)
    add_minilm(repository, minilm)
    pad = " ".join(f"{name}:0=0" for name in names)
    add_minilm(repository, padded(minilm, "padded", pad, "16 32 48 64 96 128", delay=0))
    stub = start(repository).stub
    together = infer_all(stub, [of_arrays("padded", each) for each in sentences], timeout=120)
    alone = [stub.ModelInfer(of_arrays("plain", each), timeout=60) for each in sentences]
    got, alone = (np.concatenate([own["embedding"] for own in answered(each)]) for each in (together, alone))
    assert np.abs(got - alone).max() < 1e-4
    assert 1 - (got * alone).sum(1).min() < 1e-4
    # They are different sentences, or the comparison would say nothing.
    similar = alone @ alone.T - np.eye(len(alone))
    assert similar.max() < 0.999
    counted = counts(stub, "padded")
    assert counted.success == len(sentences) and counted.executions < len(sentences) / 2
