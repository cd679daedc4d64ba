"""Unmodified clients: tritonclient.grpc, grpc.aio, the calls of perf_analyzer, health and reflection."""

import asyncio
import queue

import grpc
import ml_dtypes
import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.grpc.aio as triton_aio
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from models import ADDONE
from tritonclient.grpc import model_config_pb2, service_pb2 as pb
from tritonclient.utils import InferenceServerException
from wire import index, infer, of_probe, of_rows, probe_steps, statistics

SERVICE = "inference.GRPCInferenceService"
ROWS = np.array([[1, 2, 3, 4]], np.float32)


@pytest.fixture
def client(server):
    with triton.InferenceServerClient(server.address) as client:
        yield client


def triton_input(rows=ROWS, name="INPUT__0", datatype="FP32", module=triton):
    tensor = module.InferInput(name, list(rows.shape), datatype)
    tensor.set_data_from_numpy(rows)
    return tensor


# tritonclient.grpc


def test_client_sees_a_live_and_ready_server(client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("addone")


def test_client_is_told_that_an_unknown_model_is_not_found(client):
    with pytest.raises(InferenceServerException) as caught:
        client.is_model_ready("nosuch")
    assert caught.value.status() == "StatusCode.NOT_FOUND"


def test_server_metadata_names_only_the_extensions_that_work(client):
    metadata = client.get_server_metadata()
    assert metadata.name == "ferry" and metadata.version
    assert sorted(metadata.extensions) == [
        "binary_tensor_data", "classification", "model_configuration", "parameters", "statistics"]


def test_server_metadata_gives_the_id_of_the_command_line(start, repository):
    with triton.InferenceServerClient(start(repository.add(ADDONE), flags=["--id=harbour"]).address) as client:
        assert client.get_server_metadata().name == "harbour"


@pytest.mark.parametrize("model, shape", [("addone", [-1, 4]), ("addone_unbatched", [4])])
def test_b055_metadata_has_the_batch_dimension_and_config_has_not(client, model, shape):
    metadata = client.get_model_metadata(model)
    assert (metadata.name, list(metadata.versions), metadata.platform) == (model, ["1"], "pytorch_libtorch")
    for tensors, name in ((metadata.inputs, "INPUT__0"), (metadata.outputs, "OUTPUT__0")):
        assert [(t.name, t.datatype, list(t.shape)) for t in tensors] == [(name, "FP32", shape)]
    config = client.get_model_config(model).config
    assert (list(config.input[0].dims), config.input[0].data_type) == ([4], model_config_pb2.TYPE_FP32)


def test_config_is_the_users_with_the_defaults_filled_in(start, repository):
    text = ('platform: "pytorch_libtorch" max_batch_size: 8 '
            'input { name: "INPUT__0" data_type: TYPE_FP32 dims: 4 } '
            'output { name: "OUTPUT__0" data_type: TYPE_FP32 dims: 4 } '
            'dynamic_batching { max_queue_delay_microseconds: 100 } '
            'parameters { key: "k" value: { string_value: "v" } }')
    repository.write("plain", text, ADDONE.file())
    with triton.InferenceServerClient(start(repository).address) as client:
        config = client.get_model_config("plain").config
    assert (config.name, config.backend, config.platform) == ("plain", "pytorch", "pytorch_libtorch")
    assert (config.max_batch_size, config.default_model_filename) == (8, "model.pt")
    assert config.version_policy.latest.num_versions == 1
    assert [(group.count, group.kind) for group in config.instance_group] == [
        (1, model_config_pb2.ModelInstanceGroup.KIND_CPU)]
    assert config.dynamic_batching.max_queue_delay_microseconds == 100
    assert config.parameters["k"].string_value == "v"


def test_client_infers(client):
    result = client.infer("addone", [triton_input()], request_id="7",
                          outputs=[triton.InferRequestedOutput("OUTPUT__0")])
    assert result.as_numpy("OUTPUT__0").tolist() == [[2, 3, 4, 5]]
    assert result.get_response().id == "7"


def test_client_infers_every_kind_of_parameter_it_can_send(client):
    result = client.infer("addone", [triton_input()], priority=1, timeout=5_000_000,
                          parameters={"text": "a", "number": 1, "flag": True, "real": 0.5})
    assert result.as_numpy("OUTPUT__0").tolist() == [[2, 3, 4, 5]]


def test_client_infers_brain_floats(client):
    tensor = triton_input(np.array([[1.5, -2.0]], ml_dtypes.bfloat16), datatype="BF16")
    answer = client.infer("identity_bf16", [tensor]).as_numpy("OUTPUT__0")
    assert answer.astype(np.float32).tolist() == [[1.5, -2.0]]


def test_client_asks_for_classes(client):
    outputs = [triton.InferRequestedOutput("OUTPUT__0", class_count=1)]
    assert client.infer("addone", [triton_input()], outputs=outputs).as_numpy("OUTPUT__0").tolist() == [
        [b"5.000000:3"]]


def test_client_infers_asynchronously(client):
    done = queue.Queue()
    for i in range(20):
        client.async_infer("addone", [triton_input(ROWS + i)], request_id=str(i),
                           callback=lambda result, error: done.put((result, error)))
    for _ in range(20):
        result, error = done.get(timeout=30)
        assert error is None
        offset = int(result.get_response().id)
        np.testing.assert_array_equal(result.as_numpy("OUTPUT__0"), ROWS + 1 + offset)


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_client_may_compress_its_requests(client, algorithm):
    rows = np.arange(400_000, dtype=np.float32)
    result = client.infer("var_unbatched", [triton_input(rows)], compression_algorithm=algorithm)
    np.testing.assert_array_equal(result.as_numpy("OUTPUT__0"), rows)


def test_unknown_headers_are_harmless(client):
    result = client.infer("addone", [triton_input()], headers={"x-trace": "1", "authorization": "Bearer t"})
    assert result.as_numpy("OUTPUT__0").tolist() == [[2, 3, 4, 5]]


def test_client_timeout_is_deadline_exceeded_and_the_next_call_works(client, stub):
    inputs = [triton_input(np.zeros((1, 2), np.float32), "X"),
              triton_input(np.full((1, 1), probe_steps(stub, "probe", 1.0), np.int64), "N", "INT64")]
    with pytest.raises(InferenceServerException) as caught:
        client.infer("probe", inputs, client_timeout=0.1)
    assert "Deadline" in str(caught.value)
    assert client.infer("addone", [triton_input()]).as_numpy("OUTPUT__0").tolist() == [[2, 3, 4, 5]]


def test_client_gets_the_status_and_the_reason_of_a_refusal(client):
    with pytest.raises(InferenceServerException) as caught:
        client.infer("addone", [triton_input(np.zeros((1, 5), np.float32))])
    assert caught.value.status() == "StatusCode.INVALID_ARGUMENT" and "INPUT__0" in caught.value.message()


def test_client_reads_statistics_and_index_as_json(client):
    client.infer("addone", [triton_input()])
    (model,) = client.get_inference_statistics("addone", as_json=True)["model_stats"]
    # 64-bit numbers are strings in protobuf's JSON; scripts rely on it.
    assert int(model["inference_stats"]["queue"]["ns"]) > 0 and int(model["last_inference"]) > 0
    index = client.get_model_repository_index(as_json=True)["models"]
    assert {"name": "addone", "version": "1", "state": "READY"} in index


def test_statistics_without_a_name_are_of_all_models(client):
    names = [each.name for each in client.get_inference_statistics().model_stats]
    assert len(names) == len(set(names)) and {"addone", "var", "probe"} <= set(names)


def test_calls_that_are_not_offered_say_so_to_the_client(client):
    with pytest.raises(InferenceServerException) as caught:
        client.get_trace_settings()
    assert caught.value.status() == "StatusCode.UNIMPLEMENTED"
    with pytest.raises(InferenceServerException) as caught:
        client.load_model("addone")
    assert caught.value.status() == "StatusCode.UNAVAILABLE"


def test_ready_index_lists_no_model_that_failed(start, repository):
    repository.add(ADDONE).write("broken", ADDONE.but(name="broken").config(), b"junk")
    stub = start(repository).stub
    assert set(index(stub)) == {"addone", "broken"}
    assert set(index(stub, ready=True)) == {"addone"}


# tritonclient.grpc.aio


def test_aio_client_makes_every_call(server):
    async def call():
        async with triton_aio.InferenceServerClient(server.address) as client:
            assert await client.is_server_live() and await client.is_server_ready()
            assert await client.is_model_ready("addone", "1")
            assert (await client.get_server_metadata()).name == "ferry"
            assert (await client.get_model_metadata("addone")).inputs[0].name == "INPUT__0"
            assert (await client.get_model_config("addone")).config.max_batch_size == 8
            assert (await client.get_inference_statistics("addone")).model_stats[0].version == "1"
            assert "addone" in [each.name for each in (await client.get_model_repository_index()).models]
            result = await client.infer("addone", [triton_input(module=triton_aio)], request_id="a",
                                        compression_algorithm="gzip")
            assert result.as_numpy("OUTPUT__0").tolist() == [[2, 3, 4, 5]]

    asyncio.run(asyncio.wait_for(call(), 30))


def test_aio_client_infers_concurrently(server):
    async def one(client, i):
        result = await client.infer("addone", [triton_input(ROWS + i, module=triton_aio)])
        np.testing.assert_array_equal(result.as_numpy("OUTPUT__0"), ROWS + 1 + i)

    async def call():
        async with triton_aio.InferenceServerClient(server.address) as client:
            await asyncio.gather(*(one(client, i) for i in range(200)))

    asyncio.run(asyncio.wait_for(call(), 30))


# perf_analyzer


def test_perf_analyzer_finds_what_it_reads(stub):
    metadata = stub.ModelMetadata(pb.ModelMetadataRequest(name="addone"))
    config = stub.ModelConfig(pb.ModelConfigRequest(name="addone")).config
    assert "statistics" in stub.ServerMetadata(pb.ServerMetadataRequest()).extensions
    assert [t.name for t in metadata.inputs] == [t.name for t in config.input]
    assert [t.name for t in metadata.outputs] == [t.name for t in config.output]

    before = stub.ModelStatistics(pb.ModelStatisticsRequest(name="addone")).model_stats[0]
    message = of_rows("addone", ROWS, id="pa-1", outputs=["OUTPUT__0"],
                      parameters={"triton_enable_empty_final_response": True})
    answer = stub.ModelInfer(message, timeout=10)
    after = stub.ModelStatistics(pb.ModelStatisticsRequest(name="addone")).model_stats[0]

    assert answer.id == "pa-1" and len(answer.raw_output_contents) == len(answer.outputs) == 1
    assert int(after.version) == 1
    assert after.inference_stats.queue.count - before.inference_stats.queue.count == 1


def test_perf_analyzer_reads_equal_counts_while_requests_run(stub):
    # perf_analyzer aborts when a snapshot is torn between these counters.
    running = [stub.ModelInfer.future(of_rows("addone", ROWS), timeout=30) for _ in range(500)]
    while not all(each.done() for each in running):
        read = stub.ModelStatistics(pb.ModelStatisticsRequest(name="addone")).model_stats[0].inference_stats
        assert len({read.success.count, read.queue.count, read.compute_input.count,
                    read.compute_infer.count, read.compute_output.count}) == 1
    assert [each.exception() for each in running] == [None] * 500


def test_durations_of_the_parts_add_up_to_no_more_than_the_request(stub):
    steps = probe_steps(stub, "probe", 0.2)
    before = durations(stub, "probe")
    infer(stub, of_probe("probe", [1], steps))
    spent = {part: ns - before[part] for part, ns in durations(stub, "probe").items()}
    whole = spent.pop("success")
    assert spent["compute_infer"] > 0.05e9
    assert sum(spent.values()) <= whole


def durations(stub, model):
    """Nanoseconds by part of the request; 'success' is the whole of it."""
    read = statistics(stub, model).inference_stats
    parts = ("success", "queue", "compute_input", "compute_infer", "compute_output")
    return {part: getattr(read, part).ns for part in parts}


# Health and reflection


@pytest.fixture
def health(server):
    return health_pb2_grpc.HealthStub(server.channel)


@pytest.mark.parametrize("service", ["", SERVICE, "addone"])
def test_health_check_says_serving(health, service):
    answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_health_check_of_an_unknown_name_is_not_found(health):
    with pytest.raises(grpc.RpcError) as caught:
        health.Check(health_pb2.HealthCheckRequest(service="nosuch"), timeout=10)
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("service, status", [("", "SERVING"), (SERVICE, "SERVING"), ("addone", "SERVING"),
                                             ("nosuch", "SERVICE_UNKNOWN")])
def test_health_watch_tells_the_status_at_once(health, service, status):
    watch = health.Watch(health_pb2.HealthCheckRequest(service=service), timeout=10)
    assert health_pb2.HealthCheckResponse.ServingStatus.Name(next(watch).status) == status
    watch.cancel()


def test_health_of_a_failed_model_is_not_serving(start, repository):
    repository.add(ADDONE).write("broken", ADDONE.but(name="broken").config(), b"junk")
    health = health_pb2_grpc.HealthStub(start(repository).channel)
    answer = health.Check(health_pb2.HealthCheckRequest(service="broken"), timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING


def test_reflection_describes_the_service(server):
    database = ProtoReflectionDescriptorDatabase(server.channel)
    assert {SERVICE, "grpc.health.v1.Health"} <= set(database.get_services())
    service = DescriptorPool(database).FindServiceByName(SERVICE)
    assert service.methods_by_name["ModelInfer"].input_type.full_name == "inference.ModelInferRequest"
    assert set(service.methods_by_name) == {m.name for m in pb.DESCRIPTOR.services_by_name[
        "GRPCInferenceService"].methods}


def test_described_messages_equal_the_clients(server):
    pool = DescriptorPool(ProtoReflectionDescriptorDatabase(server.channel))
    for name in ("ModelInferRequest", "ModelInferResponse", "ModelConfig", "ModelStatistics", "InferParameter"):
        theirs = pool.FindMessageTypeByName(f"inference.{name}")
        ours = (pb.DESCRIPTOR.message_types_by_name.get(name)
                or model_config_pb2.DESCRIPTOR.message_types_by_name[name])
        served = {field.name: (field.number, field.type) for field in theirs.fields}
        # A client may be older than the server, so the server may have more fields.
        assert {field.name: (field.number, field.type) for field in ours.fields}.items() <= served.items()
