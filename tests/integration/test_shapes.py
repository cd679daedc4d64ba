"""Shapes inside a batch: requests that were executed together get back the shapes and values of their own."""

import numpy as np
import pytest
from ferry_server import FerryServer
from models import ADDONE, TWO, VAR, VAR3, Repository, Transpose, fp32
from wire import arrays, counts, infer_all, of_arrays, of_rows

LONG = 20_000_000


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    two_var = TWO.but(inputs=[fp32("INPUT__0", -1), fp32("INPUT__1", -1)], outputs=[fp32("OUTPUT__0", -1)])
    square = "reshape { shape: [ 2, 2 ] }"
    repository = Repository(tmp_path_factory.mktemp("shapes")).add(
        VAR.batching("var", LONG),
        VAR3.batching("var3", LONG),
        two_var.batching("two", LONG),
        ADDONE.batching("square", LONG, module=(Transpose,), inputs=[("INPUT__0", "FP32", [4], square)],
                        outputs=[("OUTPUT__0", "FP32", [4], square)]),
        ADDONE.batching("no_dims", LONG, inputs=[("INPUT__0", "FP32", [1], "reshape { shape: [ ] }")],
                        outputs=[("OUTPUT__0", "FP32", [1], "reshape { shape: [ ] }")]),
    )
    with FerryServer(repository) as server:
        yield server.stub
        server.assert_alive()


def run(stub, model, messages, batches):
    """The first outputs of requests that must be executed in batches of these sizes (rows -> executions)."""
    before = counts(stub, model)
    responses = infer_all(stub, messages, timeout=15)
    assert (counts(stub, model) - before).batches == batches
    return [next(iter(arrays(each).values())) for each in responses]


@pytest.mark.parametrize("shape", [[0], [0, 3], [3, 0], [0, 0]], ids=str)
def test_b052_rows_without_elements_share_a_batch(stub, shape):
    model = "var" if len(shape) == 1 else "var3"
    messages = [of_rows(model, np.zeros((rows, *shape))) for rows in (2, 1, 5)]
    outputs = run(stub, model, messages, {8: 1})
    assert [each.shape for each in outputs] == [(rows, *shape) for rows in (2, 1, 5)]


def test_b052_rows_with_and_without_elements_never_share_a_batch(stub):
    messages = []
    for i in range(8):
        messages += [of_rows("var", np.full((1, 2), i)), of_rows("var", np.zeros((1, 0)))]
    outputs = run(stub, "var", messages, {8: 2})
    assert [each.tolist() for each in outputs[::2]] == [[[i, i]] for i in range(8)]
    assert [each.shape for each in outputs[1::2]] == [(1, 0)] * 8


def test_transposed_extents_never_share_a_batch(stub):
    rows = [np.arange(6).reshape((1, 2, 3) if i % 2 else (1, 3, 2)) + 10 * i for i in range(16)]
    outputs = run(stub, "var3", [of_rows("var3", each) for each in rows], {8: 2})
    for sent, output in zip(rows, outputs):
        np.testing.assert_array_equal(output, sent)


def test_requests_share_a_batch_only_if_all_their_inputs_agree(stub):
    def message(i, first, second):
        return of_arrays("two", {"INPUT__0": np.full((1, first), i, np.float32),
                                 "INPUT__1": np.full((1, second), i, np.float32)})

    widths = [(3, 3), (1, 3), (3, 1)]
    outputs = run(stub, "two", [message(i, *widths[i % 3]) for i in range(24)], {8: 3})
    assert [each.tolist() for each in outputs] == [[[11 * i] * 3] for i in range(24)]


def test_reshaped_inputs_and_outputs_are_merged_and_cut_by_rows(stub):
    sizes = [1, 3, 4]
    rows = [np.arange(4 * size).reshape(size, 4) + 100 * size for size in sizes]
    outputs = run(stub, "square", [of_rows("square", each) for each in rows], {8: 1})
    for sent, output in zip(rows, outputs):
        np.testing.assert_array_equal(output, sent[:, [0, 2, 1, 3]])


def test_rows_reshaped_to_single_numbers_are_merged(stub):
    outputs = run(stub, "no_dims", [of_rows("no_dims", [[i], [i + 10]]) for i in range(4)], {8: 1})
    assert [each.tolist() for each in outputs] == [[[i + 1], [i + 11]] for i in range(4)]
