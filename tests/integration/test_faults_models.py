"""Faults of how models are run, each by its number: threads, gradients, new shapes, memory not given back."""

import itertools
import os
import pathlib
import random
import statistics

import numpy as np
import pytest
import torch
from models import ADDONE, Model, Repository, fp32, parameter, warmup
from tritonclient.grpc import service_pb2 as pb
from wire import Pipeline, assert_serves, infer, infer_all, of_rows

MEGABYTE = 1 << 20


# Threads


class Product(torch.nn.Module):
    """A product large enough for the library to share it between threads."""

    def forward(self, x: torch.Tensor):
        return x @ torch.ones(512, 512)


PRODUCT = Model("product", (Product,), [fp32("INPUT__0", 512, 512)], [fp32("OUTPUT__0", 512, 512)],
                max_batch_size=0, instances=4)


def own_threads(server):
    """The threads of the process, once each instance has had work; without gRPC's, which come and go."""
    message = of_rows("product", np.ones((512, 512)))
    for _ in range(5):
        assert not [each for each in infer_all(server.stub, [message] * 16) if isinstance(each, Exception)]
    tasks = pathlib.Path(f"/proc/{server.pid}/task").iterdir()
    return [(task / "comm").read_text().strip() for task in tasks].count("ferry")


def test_b068_instances_have_no_more_threads_than_their_parameter_says(start, tmp_path):
    counted = []
    for threads in (1, 5):
        server = start(Repository(tmp_path / str(threads)).add(PRODUCT.but(threads=threads)))
        config = server.stub.ModelConfig(pb.ModelConfigRequest(name="product"), timeout=10).config
        assert config.parameters["INTRA_OP_THREAD_COUNT"].string_value == str(threads)
        counted.append(own_threads(server))
    # Four more for each instance; the thread that loads the model may have had some, too.
    assert 4 * 4 <= counted[1] - counted[0] <= 4 * 4 + 4


def test_b068_default_follows_the_cores_that_the_process_may_use(start, tmp_path):
    """As in a container, the machine may have more cores than the process. Threads beyond them wait for each
    other to get a turn, which is what made such servers slow."""
    one_core = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]
    counted = []
    for name, threads in (("default", None), ("single", 1)):
        repository = Repository(tmp_path / name).add(PRODUCT.but(threads=threads))
        counted.append(own_threads(start(repository, prefix=one_core)))
    assert counted[0] == counted[1]


# Gradients


class Deep(torch.nn.Module):
    """Forty layers; their parameters require gradients, as they do after training."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(64, 64) for _ in range(40)])

    def forward(self, x: torch.Tensor):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


DEEP_ROWS = 16_384
ACTIVATION = DEEP_ROWS * 64 * 4
DEEP = Model("deep", (Deep,), [fp32("INPUT__0", -1, 64)], [fp32("OUTPUT__0", -1, 64)], max_batch_size=0)


@pytest.mark.parametrize("mode", ["true", "false"])
def test_b070_forward_keeps_no_activations_for_a_backward_pass(start, repository, mode):
    """With gradients on, each of the forty layers keeps its activation until the end. Without, a layer needs
    its input, its product and its output; the request, the answer and the library's own are some more."""
    server = start(repository.add(DEEP.but(extra=parameter("INFERENCE_MODE", mode))))
    # What libraries allocate once is no part of it.
    infer(server.stub, of_rows("deep", np.zeros((1, 64))))
    before = server.resident_bytes()
    answer = infer(server.stub, of_rows("deep", np.ones((DEEP_ROWS, 64))))
    assert answer.shape == (DEEP_ROWS, 64) and np.isfinite(answer).all()
    taken = (server.peak_bytes() - before) / ACTIVATION
    print(f"\npeak: {taken:.1f} activations")
    # Forty more with gradients.
    assert taken < 24


# New shapes


class Signal(torch.nn.Module):
    """A convolution and elementwise operations, which are what the compiler would fuse for each shape."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.convolution = torch.nn.Conv1d(1, 16, 5, padding=2)

    def forward(self, x: torch.Tensor):
        y = self.convolution(x.unsqueeze(1))
        y = torch.sigmoid(y) * torch.tanh(y) + torch.relu(y) * 0.5
        return (y * y + 1).mean(1) - x


SIGNAL = Model("signal", (Signal,), [fp32("INPUT__0", -1)], [fp32("OUTPUT__0", -1)], threads=1)
LENGTHS = [2000 + 37 * i for i in range(30)]


def cpu_seconds(server):
    """What all threads of the process have used; other processes that keep the machine busy do not count."""
    used = 0
    for task in pathlib.Path(f"/proc/{server.pid}/task").iterdir():
        used += int((task / "schedstat").read_text().split()[0])
    return used / 1e9


def costs(server, lengths):
    spent = []
    for length in lengths:
        before = cpu_seconds(server)
        infer(server.stub, of_rows("signal", np.ones((1, length))))
        spent.append(cpu_seconds(server) - before)
    return spent


def assert_no_new_length_is_dear(server):
    first = costs(server, LENGTHS)
    usual = statistics.median(costs(server, LENGTHS * 2))
    print(f"\nmost {1000 * max(first):.2f} ms, usually {1000 * usual:.2f} ms")
    assert max(first) < 5 * usual


@pytest.mark.parametrize("fields", ["", parameter("DISABLE_OPTIMIZED_EXECUTION", "true")],
                         ids=["default", "not optimized"])
def test_b071_new_lengths_cost_no_more_than_known_ones(start, repository, fields):
    server = start(repository.add(SIGNAL.but(extra=fields)))
    costs(server, [1999])
    assert_no_new_length_is_dear(server)


def test_b071_lengths_of_the_warm_up_are_known_from_the_first_call(start, repository):
    samples = "\n".join(
        warmup(f"{length} wide", {"INPUT__0": f"data_type: TYPE_FP32 dims: [ {length} ] random_data: true"})
        for length in LENGTHS)
    assert_no_new_length_is_dear(start(repository.add(SIGNAL.but(extra=samples))))


# Memory


def test_b076_mixed_sizes_do_not_make_the_memory_grow(start, repository):
    server = start(repository.add(ADDONE, ADDONE.but(
        name="mixed", inputs=[fp32("INPUT__0", -1)], outputs=[fp32("OUTPUT__0", -1)], max_batch_size=32)))
    random.seed(76)
    # Made beforehand: the client is slower than the server.
    messages = [of_rows("mixed", np.ones((random.randint(1, 32), random.choice([10, 1000, 30_000]))))
                for _ in range(200)]
    resident = []
    with Pipeline(server.stub, itertools.cycle(messages), width=4) as pipeline:
        for quarter in range(1, 5):
            pipeline.wait_for(quarter * 500)
            resident.append(server.resident_bytes() / MEGABYTE)
    print("\nresident MB:", *(f"{each:.0f}" for each in resident))
    # A hundredth of what has come and gone meanwhile would be as much.
    assert resident[3] - resident[1] < 16
    assert_serves(server)
