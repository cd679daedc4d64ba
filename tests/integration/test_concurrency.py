"""Many clients at once: every answer is the client's own, and every request is answered and counted once."""

import os
import resource
import time

import grpc
import numpy as np
import pytest
import torch
from ferry_server import FerryServer
from models import ADDONE, MLP, PROBE, VAR3, Mlp, Repository
from tritonclient.grpc import service_pb2_grpc
from wire import arrays, assert_serves, counts, infer, of_probe, of_rows, run_threads

SOAK_SECONDS = float(os.environ.get("FERRY_SOAK_SECONDS", "5"))
CLIENTS = 64


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    repository = Repository(tmp_path_factory.mktemp("concurrency")).add(
        ADDONE,
        MLP.batching("mlp", 1000, instances=2),
        ADDONE.batching("addone_4_instances", 1000, instances=4),
        MLP.batching("mlp_4_instances", 1000, instances=4),
        VAR3.but(name="var3"),
        VAR3.batching("var3_1ms", 1000),
        PROBE.batching("probe", 1000),
    )
    with FerryServer(repository) as server:
        yield server


@pytest.fixture
def stub(server):
    yield server.stub
    assert_serves(server)


def mlp_cases(count, seed):
    """Distinct inputs and what the model gives for each of them alone."""
    inputs = np.random.default_rng(seed).standard_normal((count, 1, 16), np.float32)
    model = Mlp().eval()
    with torch.inference_mode():
        return [(each, model(torch.from_numpy(each)).numpy()) for each in inputs]


def test_64_clients_with_distinct_inputs_get_their_own_answers(server, stub):
    cases = mlp_cases(CLIENTS * 20, seed=64)
    sent = [0] * CLIENTS
    before = counts(stub, "mlp")
    end = time.monotonic() + SOAK_SECONDS

    def client(i):
        with grpc.insecure_channel(server.address) as channel:
            own = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            while time.monotonic() < end:
                rows, expected = cases[i * 20 + sent[i] % 20]
                id = f"{i}-{sent[i]}"
                answer = own.ModelInfer(of_rows("mlp", rows, id=id), timeout=30)
                assert answer.id == id
                np.testing.assert_allclose(arrays(answer)["OUTPUT__0"], expected, rtol=1e-5, atol=1e-5)
                sent[i] += 1

    run_threads(CLIENTS, client)
    counted = counts(stub, "mlp") - before
    assert min(sent) > 0
    assert (counted.success, counted.rows, counted.fail) == (sum(sent), sum(sent), 0)
    assert sum(size * count for size, count in counted.batches.items()) == sum(sent)
    assert sum(counted.batches.values()) == counted.executions < sum(sent)


def test_b065_parallel_instances_never_mix_their_answers(stub):
    cases = mlp_cases(1600, seed=65)

    def client(i):
        for k in range(100):
            rows, expected = cases[i * 100 + k]
            answer = infer(stub, of_rows("mlp_4_instances", rows))
            np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-5)
            unique = np.full((1 + k % 3, 4), i * 1000 + k, np.float32)
            np.testing.assert_array_equal(infer(stub, of_rows("addone_4_instances", unique)), unique + 1)

    run_threads(16, client)


@pytest.mark.parametrize("model", ["var3", "var3_1ms"])
def test_b040_random_shapes_from_parallel_clients_come_back_unchanged(stub, model):
    def client(i):
        random = np.random.default_rng(i)
        for _ in range(100):
            rows = random.standard_normal((random.integers(1, 4), *random.integers(0, 6, 2)), np.float32)
            np.testing.assert_array_equal(infer(stub, of_rows(model, rows)), rows)

    run_threads(16, client)


def test_b073_thousands_in_flight_on_many_connections_are_all_answered(start, repository):
    server = start(repository.add(ADDONE, PROBE.batching("probe", 1000)))
    _, most = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (1024, most))
    # Channels of the same address share a connection unless each has a pool of its own.
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.insecure_channel(server.address, options) for _ in range(200)]
    futures = []
    for i in range(2000):
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channels[i % 200])
        futures.append(stub.ModelInfer.future(of_probe("probe", [i], 5), timeout=60))
    values = [arrays(each.result())["OUTPUT__0"][0, 0] for each in futures]
    assert values == list(range(2000))
    for channel in channels:
        channel.close()
    assert_serves(server)


def test_clients_that_vanish_leave_the_server_serving(server, stub):
    for _ in range(20):
        with grpc.insecure_channel(server.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
            own = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            futures = [own.ModelInfer.future(of_probe("probe", [i], 20), timeout=30) for i in range(20)]
            futures[0].result()
            for future in futures[1:]:
                future.cancel()
    assert infer(stub, of_probe("probe", [5])).tolist()[0][0] == 5
