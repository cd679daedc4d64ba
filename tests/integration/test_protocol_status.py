"""Each row of the protocol's table of errors, by its exact status; the server serves on after each."""

import grpc
import pytest
from ferry_server import FerryServer
from models import ADDONE, SUMROWS, Repository
from tritonclient.grpc import service_pb2 as pb
from wire import (assert_serves, counts, floats, infer, of_rows, one_input, output, refused, request,
                  squeezed, tensor)

INVALID = grpc.StatusCode.INVALID_ARGUMENT
NOT_FOUND = grpc.StatusCode.NOT_FOUND
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
UNIMPLEMENTED = grpc.StatusCode.UNIMPLEMENTED

FOUR = floats(1, 2, 3, 4)


@pytest.fixture(autouse=True)
def serves_on_afterwards(server):
    pid = server.pid
    yield
    assert_serves(server)
    assert server.pid == pid


def refused_about(stub, call, model, version, code):
    """Asserts that one of the calls that name a model and a version fails with the code."""
    if call == "infer":
        return refused(stub.ModelInfer, of_rows(model, [[1, 2, 3, 4]], version=version), code)
    method, message = {
        "ready": (stub.ModelReady, pb.ModelReadyRequest),
        "metadata": (stub.ModelMetadata, pb.ModelMetadataRequest),
        "config": (stub.ModelConfig, pb.ModelConfigRequest),
        "statistics": (stub.ModelStatistics, pb.ModelStatisticsRequest),
    }[call]
    return refused(method, message(name=model, version=version), code)


# Models and versions

ABOUT_A_MODEL = ["infer", "ready", "metadata", "config"]


@pytest.mark.parametrize("call", ABOUT_A_MODEL)
def test_unknown_model_is_not_found(stub, call):
    assert "nosuch" in refused_about(stub, call, "nosuch", "", NOT_FOUND)


@pytest.mark.parametrize("call", ABOUT_A_MODEL)
def test_unknown_version_is_not_found(stub, call):
    details = refused_about(stub, call, "addone", "7", NOT_FOUND)
    assert "addone" in details and "7" in details


def test_empty_model_name_is_not_found(stub):
    refused(stub.ModelInfer, of_rows("", [[1, 2, 3, 4]]), NOT_FOUND)


@pytest.mark.parametrize("version", ["01", " 1", "1 ", "1abc", "1.0.0", "+1", "-1", "0x1", "latest",
                                     "99999999999999999999"])
@pytest.mark.parametrize("call", ABOUT_A_MODEL)
def test_b046_version_that_is_no_plain_number_is_invalid(stub, call, version):
    refused_about(stub, call, "addone", version, INVALID)


@pytest.mark.parametrize("version", ["0", "2"])
@pytest.mark.parametrize("call", ABOUT_A_MODEL)
def test_b046_version_that_does_not_exist_is_not_found(stub, call, version):
    refused_about(stub, call, "addone", version, NOT_FOUND)


@pytest.mark.parametrize("version", ["", "1"])
def test_b046_empty_and_real_versions_are_served(stub, version):
    assert infer(stub, of_rows("addone", [[1, 2, 3, 4]], version=version)).tolist() == [[2, 3, 4, 5]]
    assert stub.ModelReady(pb.ModelReadyRequest(name="addone", version=version)).ready


@pytest.mark.parametrize("model, version", [("nosuch", ""), ("nosuch", "1"), ("addone", "2"),
                                            ("addone", "1abc"), ("addone", "-1")])
def test_statistics_of_what_does_not_exist_are_invalid(stub, model, version):
    details = refused_about(stub, "statistics", model, version, INVALID)
    assert model in details or version and version in details


@pytest.fixture(scope="module")
def failed_model(tmp_path_factory):
    """A server on which the model 'broken' has failed to load."""
    repository = Repository(tmp_path_factory.mktemp("failed")).add(ADDONE)
    repository.write("broken", ADDONE.but(name="broken").config(), b"not a model")
    with FerryServer(repository) as server:
        yield server.stub


@pytest.mark.parametrize("call", ABOUT_A_MODEL)
def test_failed_version_asked_by_number_is_unavailable(failed_model, call):
    assert "broken" in refused_about(failed_model, call, "broken", "1", UNAVAILABLE)


@pytest.mark.parametrize("call", ABOUT_A_MODEL)
def test_failed_model_without_a_version_is_not_found(failed_model, call):
    assert "broken" in refused_about(failed_model, call, "broken", "", NOT_FOUND)


# Inputs

TWO_OK = [tensor("INPUT__0", "FP32", [1, 1]), tensor("INPUT__1", "FP32", [1, 1])]

BAD_INPUTS = {
    # name: (message, words of the refusal)
    "wrong datatype": (one_input("addone", [1, 4], bytes(32), datatype="INT64"),
                       ["INPUT__0", "INT64", "FP32"]),
    "unknown datatype": (one_input("addone", [1, 4], FOUR, datatype="FP33"), ["INPUT__0", "FP33", "FP32"]),
    "empty datatype": (one_input("addone", [1, 4], FOUR, datatype=""), ["INPUT__0", "FP32"]),
    "config name of the datatype": (one_input("addone", [1, 4], FOUR, datatype="TYPE_FP32"), ["INPUT__0"]),
    "bytes for numbers": (one_input("addone", [1, 4], (b"\x01\0\0\0a") * 4, datatype="BYTES"),
                          ["INPUT__0", "BYTES", "FP32"]),
    "typed contents of another datatype": (
        request("addone", [tensor("INPUT__0", "FP32", [1, 4], int64_contents=[1, 2, 3, 4])]), ["INPUT__0"]),
    "two typed fields": (
        request("addone", [tensor("INPUT__0", "FP32", [1, 4], fp32_contents=[1, 2, 3, 4],
                                  fp64_contents=[1, 2, 3, 4])]), ["INPUT__0"]),
    "wrong dimension": (one_input("addone", [1, 5], floats(1, 2, 3, 4, 5)), ["INPUT__0", "[-1,4]", "[1,5]"]),
    "rank too low": (one_input("addone", [4], FOUR), ["INPUT__0", "[-1,4]", "[4]"]),
    "rank too high": (one_input("addone", [1, 4, 1], FOUR), ["INPUT__0", "[-1,4]", "[1,4,1]"]),
    "batch dimension on a model without one": (one_input("addone_unbatched", [1, 4], FOUR),
                                               ["INPUT__0", "[4]", "[1,4]"]),
    "unknown dimension": (one_input("addone", [1, -1], FOUR), ["INPUT__0"]),
    "no shape on a batching model": (one_input("addone", [], FOUR), ["INPUT__0", "batch"]),
    "no shape on a model without batches": (one_input("addone_unbatched", [], FOUR), ["INPUT__0"]),
    "batch dimensions disagree": (
        request("two", [tensor("INPUT__0", "FP32", [2, 1]), tensor("INPUT__1", "FP32", [3, 1])],
                [floats(1, 2), floats(1, 2, 3)]), ["INPUT__1", "batch"]),
    "missing input": (request("two", TWO_OK[:1], [floats(1)]), ["2", "1", "INPUT__1"]),
    "no inputs": (request("two"), ["2", "0", "INPUT__0"]),
    "too many inputs": (request("two", [*TWO_OK, tensor("INPUT__2", "FP32", [1, 1])], [floats(1)] * 3),
                        ["2", "3"]),
    "unknown input name": (one_input("addone", [1, 4], FOUR, name="potato"), ["potato", "addone"]),
    "duplicate input": (request("two", [TWO_OK[0], TWO_OK[0]], [floats(1)] * 2), ["INPUT__0"]),
    "too few raw bytes": (one_input("addone", [1, 4], FOUR[:-1]), ["INPUT__0", "16", "15"]),
    "too many raw bytes": (one_input("addone", [1, 4], FOUR + b"\0"), ["INPUT__0", "16", "17"]),
    "empty raw entry": (one_input("addone", [1, 4], b""), ["INPUT__0", "16", "0"]),
    "too few typed elements": (
        request("addone", [tensor("INPUT__0", "FP32", [1, 4], fp32_contents=[1, 2, 3])]), ["INPUT__0"]),
    "too many typed elements": (
        request("addone", [tensor("INPUT__0", "FP32", [1, 4], fp32_contents=[1, 2, 3, 4, 5])]), ["INPUT__0"]),
    "no data": (request("addone", [tensor("INPUT__0", "FP32", [1, 4])]), ["INPUT__0"]),
    "fewer raw entries than inputs": (request("two", TWO_OK, [floats(1)]), ["INPUT__1"]),
    "raw and typed contents": (
        request("two", [TWO_OK[0], tensor("INPUT__1", "FP32", [1, 1], fp32_contents=[1])], [floats(1)] * 2),
        ["contents"]),
    "batch too large": (of_rows("addone", [[1, 2, 3, 4]] * 9), ["9", "8"]),
    "no rows": (one_input("addone", [0, 4], b""), ["INPUT__0"]),
}


@pytest.mark.parametrize("fault", BAD_INPUTS)
def test_bad_input_is_invalid(stub, fault):
    message, words = BAD_INPUTS[fault]
    before = counts(stub, message.model_name)
    details = squeezed(refused(stub.ModelInfer, message, INVALID))
    assert [word for word in words if word not in details] == []
    assert (counts(stub, message.model_name) - before).executions == 0


def test_surplus_raw_entries_are_ignored(stub):
    message = request("two", TWO_OK, [floats(1), floats(2), floats(9)])
    assert infer(stub, message).tolist() == [[12]]


# Outputs


@pytest.mark.parametrize("outputs", [["potato"], ["OUTPUT__0", "potato"], [""]])
def test_unknown_output_is_invalid(stub, outputs):
    assert outputs[-1] in refused(stub.ModelInfer, of_rows("addone", [[1, 2, 3, 4]], outputs=outputs), INVALID)


def test_duplicate_output_is_invalid(stub):
    message = of_rows("addone", [[1, 2, 3, 4]], outputs=["OUTPUT__0", "OUTPUT__0"])
    assert "OUTPUT__0" in refused(stub.ModelInfer, message, INVALID)


def test_request_without_outputs_gets_all_in_config_order(stub):
    answer = stub.ModelInfer(of_rows("three_out", [[1]]), timeout=10)
    assert [each.name for each in answer.outputs] == ["OUTPUT__0", "OUTPUT__1", "OUTPUT__2"]


# Parameters

BAD_PARAMETERS = {
    "negative priority": {"priority": -1},
    "priority of text": {"priority": "high"},
    "priority of bool": {"priority": True},
    "timeout of text": {"timeout": "soon"},
    "timeout of bool": {"timeout": True},
    "unknown reserved key": {"triton_potato": True},
    "reserved key of another type": {"triton_enable_empty_final_response": 1},
    "custom uint64": {"custom": ("uint64_param", 1)},
}


@pytest.mark.parametrize("fault", BAD_PARAMETERS)
def test_bad_parameter_is_invalid(stub, fault):
    (key,) = BAD_PARAMETERS[fault]
    message = of_rows("addone", [[1, 2, 3, 4]], parameters=BAD_PARAMETERS[fault])
    assert key in refused(stub.ModelInfer, message, INVALID)


@pytest.mark.parametrize("parameters", [
    {"priority": 1}, {"priority": ("uint64_param", 1)}, {"timeout": 5_000_000},
    {"triton_enable_empty_final_response": True},
    {"text": "a", "number": 7, "flag": False, "real": 0.5},
], ids=lambda parameters: ",".join(parameters))
def test_legal_parameters_are_accepted(stub, parameters):
    message = of_rows("addone", [[1, 2, 3, 4]], parameters=parameters)
    assert infer(stub, message).tolist() == [[2, 3, 4, 5]]


# Order of the checks


def test_first_fault_in_wire_order_is_reported_always(stub):
    wrong = {name: tensor(name, "INT8", [1, 1]) for name in ("INPUT__0", "INPUT__1")}
    for first, second in (("INPUT__0", "INPUT__1"), ("INPUT__1", "INPUT__0")):
        message = request("two", [wrong[first], wrong[second]], [b"\1", b"\1"])
        texts = {refused(stub.ModelInfer, message, INVALID) for _ in range(10)}
        assert len(texts) == 1 and first in texts.pop()


def test_parameter_fault_is_reported_before_an_input_fault(stub):
    message = one_input("addone", [1, 5], b"", parameters={"priority": -1}, outputs=["potato"])
    assert "priority" in refused(stub.ModelInfer, message, INVALID)


def test_input_fault_is_reported_before_an_output_fault(stub):
    message = one_input("addone", [1, 5], b"", outputs=["potato"])
    assert "INPUT__0" in refused(stub.ModelInfer, message, INVALID)


def test_refusal_names_the_request_id(stub):
    message = one_input("addone", [1, 5], b"", id="order-66")
    assert "order-66" in refused(stub.ModelInfer, message, INVALID)


# Execution


def test_model_that_raises_is_internal(stub):
    details = refused(stub.ModelInfer, of_rows("rz", [[-1, 0, 0, 0]]), grpc.StatusCode.INTERNAL)
    assert details.count("PyTorch execute failure") == 1 and "negative input" in details


def test_output_with_too_few_rows_is_unimplemented(start, repository):
    stub = start(repository.add(SUMROWS)).stub
    details = refused(stub.ModelInfer, of_rows("sumrows", [[1, 2, 3, 4]] * 3), UNIMPLEMENTED)
    assert "OUTPUT__0" in details and "[3,4]" in squeezed(details) and "[1,4]" in squeezed(details)


# Shared memory, and calls that are not offered

REGION = {"shared_memory_region": "r", "shared_memory_byte_size": 16}


def test_b098_shared_memory_of_an_input_is_unimplemented(stub):
    message = request("addone", [tensor("INPUT__0", "FP32", [1, 4], REGION)])
    refused(stub.ModelInfer, message, UNIMPLEMENTED)


def test_b098_shared_memory_with_data_beside_it_is_unimplemented(stub):
    typed = tensor("INPUT__0", "FP32", [1, 4], REGION, fp32_contents=[1, 2, 3, 4])
    refused(stub.ModelInfer, request("addone", [typed]), UNIMPLEMENTED)
    raw = request("addone", [tensor("INPUT__0", "FP32", [1, 4], REGION)], [FOUR])
    refused(stub.ModelInfer, raw, UNIMPLEMENTED)


def test_b098_shared_memory_of_an_output_is_unimplemented(stub):
    message = of_rows("addone", [[1, 2, 3, 4]], outputs=[output("OUTPUT__0", **REGION)])
    refused(stub.ModelInfer, message, UNIMPLEMENTED)


NOT_OFFERED = {
    "SystemSharedMemoryStatus": pb.SystemSharedMemoryStatusRequest(),
    "SystemSharedMemoryRegister": pb.SystemSharedMemoryRegisterRequest(name="r", key="/r", byte_size=16),
    "SystemSharedMemoryUnregister": pb.SystemSharedMemoryUnregisterRequest(),
    "CudaSharedMemoryStatus": pb.CudaSharedMemoryStatusRequest(),
    "CudaSharedMemoryRegister": pb.CudaSharedMemoryRegisterRequest(name="r", raw_handle=b"h", byte_size=16),
    "CudaSharedMemoryUnregister": pb.CudaSharedMemoryUnregisterRequest(),
    "TraceSetting": pb.TraceSettingRequest(),
    "LogSettings": pb.LogSettingsRequest(),
}


@pytest.mark.parametrize("name", NOT_OFFERED)
def test_call_that_is_not_offered_is_unimplemented_in_a_sentence(stub, name):
    assert " " in refused(getattr(stub, name), NOT_OFFERED[name], UNIMPLEMENTED)


def test_b097_log_file_cannot_be_set_over_the_network(stub, tmp_path):
    message = pb.LogSettingsRequest()
    message.settings["log_file"].string_param = str(tmp_path / "canary")
    refused(stub.LogSettings, message, UNIMPLEMENTED)
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("model", ["addone", "nosuch"])
def test_load_and_unload_are_unavailable(stub, model):
    refused(stub.RepositoryModelLoad, pb.RepositoryModelLoadRequest(model_name=model), UNAVAILABLE)
    refused(stub.RepositoryModelUnload, pb.RepositoryModelUnloadRequest(model_name=model), UNAVAILABLE)


def test_b095_load_with_a_file_writes_nothing(stub, tmp_path):
    message = pb.RepositoryModelLoadRequest(model_name="addone")
    message.parameters["config"].string_param = "{}"
    message.parameters[f"file:{tmp_path}/canary"].bytes_param = b"x"
    refused(stub.RepositoryModelLoad, message, UNAVAILABLE)
    assert not (tmp_path / "canary").exists()


def test_index_of_a_named_repository_is_unimplemented(stub):
    refused(stub.RepositoryIndex, pb.RepositoryIndexRequest(repository_name="other"), UNIMPLEMENTED)
