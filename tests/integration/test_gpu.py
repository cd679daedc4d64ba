"""Models on a real GPU give what they give on the CPU. Needs one, and a server of the flavour with CUDA."""

import pathlib
import subprocess

import grpc
import numpy as np
import pytest
from ferry_server import BINARY, FerryServer
from models import ADDONE, MLP, RZ, Repository, parameter
from tritonclient.grpc import model_config_pb2, service_pb2
from wire import arrays, infer, infer_all, of_rows, refused, run_threads


def _usable():
    if not pathlib.Path("/dev/nvidia0").exists():
        return False
    libraries = subprocess.run(["ldd", str(BINARY)], capture_output=True, text=True, check=False).stdout
    return "libtorch_cuda" in libraries


pytestmark = pytest.mark.skipif(not _usable(), reason="no GPU, or a server without CUDA")

GRAPHS = parameter("ferry.cuda_graphs", "true")
ON_GPU = MLP.batching("gpu", delay_us=500, kind="KIND_GPU", max_batch_size=16)
GRAPHED = ON_GPU.but(name="gpu_graphs", extra=ON_GPU.extra + GRAPHS)
MODELS = [
    MLP.but(name="cpu"),
    ON_GPU,
    ON_GPU.but(name="gpu_two", instances=2),
    GRAPHED,
    GRAPHED.but(name="gpu_graphs_two", instances=2),
    RZ.but(name="gpu_raises", kind="KIND_GPU", extra=GRAPHS),
    ADDONE.but(name="auto", kind="KIND_AUTO"),
]


@pytest.fixture(scope="module")
def gpu_stub(tmp_path_factory):
    with FerryServer(Repository(tmp_path_factory.mktemp("gpu")).add(*MODELS)) as server:
        yield server.stub


def _rows(seed, count):
    return np.random.default_rng(seed).normal(size=(count, 16)).astype(np.float32)


@pytest.mark.parametrize("model", ["gpu", "gpu_two", "gpu_graphs", "gpu_graphs_two"])
def test_every_batch_size_gives_what_the_cpu_gives(gpu_stub, model):
    for rows in range(1, 17):
        x = _rows(rows, rows)
        for _ in range(3):
            expected = infer(gpu_stub, of_rows("cpu", x[:8]))
            np.testing.assert_allclose(infer(gpu_stub, of_rows(model, x))[:8], expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("model", ["gpu", "gpu_two", "gpu_graphs", "gpu_graphs_two"])
def test_clients_get_their_own_rows_from_batches_that_overlap(gpu_stub, model):
    def client(seed):
        x = _rows(seed, 8)
        expected = infer(gpu_stub, of_rows("cpu", x))
        for _ in range(50):
            answers = infer_all(gpu_stub, [of_rows(model, x[i:i + 1]) for i in range(8)])
            got = np.concatenate([next(iter(arrays(answer).values())) for answer in answers])
            np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)

    run_threads(8, client)


def test_a_model_that_cannot_be_recorded_is_run(gpu_stub):
    x = np.ones((1, 4), np.float32)
    for _ in range(8):
        np.testing.assert_array_equal(infer(gpu_stub, of_rows("gpu_raises", x)), x + 1)
        refused(gpu_stub.ModelInfer, of_rows("gpu_raises", -x), grpc.StatusCode.INTERNAL)


def test_auto_is_the_gpu(gpu_stub):
    config = gpu_stub.ModelConfig(service_pb2.ModelConfigRequest(name="auto"), timeout=10).config
    assert config.instance_group[0].kind == model_config_pb2.ModelInstanceGroup.KIND_GPU
    np.testing.assert_array_equal(infer(gpu_stub, of_rows("auto", np.zeros((2, 4), np.float32))), np.ones((2, 4)))
