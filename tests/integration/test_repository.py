"""What is loaded, what fails to load and why; the others are served in any case."""

import os

import broken_models
import grpc
import pytest
from broken_models import CONFIG, GOOD_FILE
from ferry_server import BINARY, FerryServer
from grpc_health.v1 import health_pb2, health_pb2_grpc
from models import ADDONE, VAR, AddOne, RaisesOnZero, Repository, add_slow_start, torchscript
from tritonclient.grpc import model_config_pb2, service_pb2 as pb
from wire import assert_serves, index, infer, of_rows, refused, squeezed, statistics

ROW = [[1, 2, 3, 4]]


def ready(stub):
    return stub.ServerReady(pb.ServerReadyRequest(), timeout=10).ready


def adds(amount):
    """A model file that adds the amount: tells which file answered."""
    return torchscript(AddOne, float(amount))


def added(stub, model, version=""):
    return infer(stub, of_rows(model, [[0, 0, 0, 0]], version=version))[0, 0]


def versions(stub, model):
    return [(entry.version, entry.state) for entry in index(stub)[model]]


# Models that do not load


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A server of one good model and every broken one."""
    # Deep enough for an archive's ../ entries to stay inside the test's own folder.
    repository = Repository(tmp_path_factory.mktemp("broken") / "deeply" / "nested" / "repository").add(ADDONE)
    broken_models.write_all(repository)
    with FerryServer(repository) as server:
        yield server


def assert_unavailable(server, name, words):
    """The model is not served, and its reason has each word; a word is a text or a pattern."""
    server.assert_alive()
    (entry,) = index(server.stub)[name]
    assert entry.state == "UNAVAILABLE"
    assert [word for word in words if not has(entry.reason, word)] == [], entry.reason
    assert 0 < len(entry.reason) < 4096


def has(text, word):
    if isinstance(word, str):
        return squeezed(word) in squeezed(text)
    return word.search(text) is not None


@pytest.mark.parametrize("name", broken_models.SYNTAX_ERRORS)
def test_b092_syntax_error_is_placed_by_file_line_and_column(broken, name):
    assert_unavailable(broken, name, broken_models.SYNTAX_ERRORS[name][-1])


@pytest.mark.parametrize("name", broken_models.FIELD_ERRORS)
def test_wrong_field_is_named_with_its_file_and_value(broken, name):
    assert_unavailable(broken, name, ["config.pbtxt", *broken_models.FIELD_ERRORS[name][-1]])


@pytest.mark.parametrize("name", broken_models.REFUSED_FEATURES)
def test_feature_that_is_not_offered_is_refused_by_name(broken, name):
    assert_unavailable(broken, name, ["config.pbtxt", *broken_models.REFUSED_FEATURES[name][-1]])


@pytest.mark.parametrize("name", broken_models.TENSOR_ERRORS)
def test_b094_reason_says_which_input_or_output(broken, name):
    assert_unavailable(broken, name, ["config.pbtxt", *broken_models.TENSOR_ERRORS[name][-1]])


@pytest.mark.parametrize("name", broken_models.SHAPE_ERRORS)
def test_b056_impossible_dims_and_reshapes_are_named(broken, name):
    assert_unavailable(broken, name, ["config.pbtxt", "INPUT__0", *broken_models.SHAPE_ERRORS[name][-1]])


@pytest.mark.parametrize("name", broken_models.OUTPUT_ERRORS)
def test_b058_output_unlike_the_config_is_named(broken, name):
    assert_unavailable(broken, name, broken_models.OUTPUT_ERRORS[name][-1])


@pytest.mark.parametrize("name", broken_models.FILES)
def test_b101_bytes_that_are_no_model_are_refused_by_file(broken, name):
    assert_unavailable(broken, name, [f"{name}/1/model.pt"])


@pytest.mark.parametrize("name", broken_models.ODD_FILES)
def test_b101_what_is_no_file_is_named(broken, name):
    assert_unavailable(broken, name, broken_models.ODD_FILES[name])


@pytest.mark.parametrize("name", broken_models.WARM_UPS)
def test_b080_failed_warm_up_fails_the_load_and_names_the_sample(broken, name):
    assert_unavailable(broken, name, broken_models.WARM_UPS[name][-1])


def test_good_model_among_broken_ones_is_served(broken):
    assert [entry.state for entry in index(broken.stub)["addone"]] == ["READY"]
    assert_serves(broken)


def test_reason_is_in_the_log_too(broken):
    for name in ("file_random", "placeholder", "warmup_raises"):
        assert any(name in line for line in broken.log()), name


def test_failed_models_keep_a_strict_server_from_being_ready(broken):
    assert broken.stub.ServerLive(pb.ServerLiveRequest()).live
    assert not ready(broken.stub)


def test_b101_archive_that_climbs_writes_nothing_outside(broken, tmp_path_factory):
    assert "file_zip_that_climbs" in index(broken.stub)
    assert list(tmp_path_factory.getbasetemp().rglob("climbed.txt")) == []


def test_server_that_is_not_strict_is_ready_with_failed_models(start, repository):
    repository.add(ADDONE).write("broken", CONFIG, b"junk")
    server = start(repository, flags=["--strict-readiness=false"])
    assert ready(server.stub)
    assert_serves(server)


def test_exit_on_error_ends_the_process(start, repository):
    repository.add(ADDONE).write("broken", CONFIG, b"junk")
    server = start(repository, flags=["--exit-on-error=true"], wait=None)
    assert server.wait_exit() > 0
    assert any("broken" in line for line in server.log())


@pytest.fixture
def readable_by_all(tmp_path):
    """A repository that the user nobody can reach."""
    if os.geteuid() != 0 or any(not os.stat(folder).st_mode & 0o001 for folder in BINARY.parents):
        pytest.skip("needs root, to become a user that permissions bind, and a checkout that user can read")
    for folder in tmp_path.parents:
        if folder.name.startswith("pytest-"):
            folder.chmod(0o755)
    tmp_path.chmod(0o755)
    return Repository(tmp_path / "repository").add(ADDONE)


def test_unreadable_folders_and_files_leave_the_others_served(start, readable_by_all):
    repository = readable_by_all
    closed = {
        "closed_folder": repository.write("closed_folder", CONFIG, GOOD_FILE),
        "closed_version": repository.write("closed_version", CONFIG, GOOD_FILE) / "1",
        "closed_file": repository.write("closed_file", CONFIG, GOOD_FILE) / "1" / "model.pt",
        "closed_config": repository.write("closed_config", CONFIG, GOOD_FILE) / "config.pbtxt",
    }
    for path in closed.values():
        path.chmod(0)
    server = start(repository, user="nobody")
    entries = index(server.stub)
    for name in closed:
        assert [entry.state for entry in entries[name]] == ["UNAVAILABLE"]
        assert name in entries[name][0].reason and "ermission denied" in entries[name][0].reason
    assert_serves(server)


# Configs that are legal

LEGAL_CONFIGS = {
    "comments": "# About this model\n" + CONFIG.replace("\n", " # here too\n"),
    "crlf": CONFIG.replace("\n", "\r\n"),
    "tabs": CONFIG.replace(" ", "\t"),
    "single_quotes": CONFIG.replace('"', "'"),
    "angle_brackets": CONFIG.replace("{", "<").replace("}", ">"),
    "repeated_fields": CONFIG.replace("[\n  {", "{").replace("}\n]", "}").replace("[ 4 ]", "4"),
    "commas_and_semicolons": CONFIG.replace("TYPE_FP32 ", "TYPE_FP32, ").replace("8\n", "8;\n"),
    "colon_before_brace": CONFIG.replace("input [", "input: ["),
    "one_line": CONFIG.replace("\n", " "),
    "no_platform_but_backend": CONFIG.replace('platform: "pytorch_libtorch"', 'backend: "pytorch"'),
    # The model's file tells the backend.
    "no_platform": CONFIG.replace('platform: "pytorch_libtorch"', ""),
    "empty_name": CONFIG + 'name: ""',
    "output_named_like_the_input": CONFIG.replace("OUTPUT__0", "INPUT__0"),
    "free_output_dims": CONFIG[:CONFIG.index("output")] + CONFIG[CONFIG.index("output"):].replace("4", "-1"),
    "fields_of_other_backends": CONFIG + "optimization { graph { level: 1 } input_pinned_memory { enable: false } }",
}


@pytest.fixture(scope="module")
def legal(tmp_path_factory):
    repository = Repository(tmp_path_factory.mktemp("legal"))
    for name, config in LEGAL_CONFIGS.items():
        repository.write(name, config, GOOD_FILE)
    with FerryServer(repository) as server:
        yield server


@pytest.mark.parametrize("name", LEGAL_CONFIGS)
def test_b092_legal_config_is_served(legal, name):
    assert [entry.reason for entry in index(legal.stub)[name]] == [""]
    assert infer(legal.stub, of_rows(name, ROW)).tolist() == [[2, 3, 4, 5]]


WARNED = {
    "response_cache": "response_cache { enable: true }",
    "rate_limiter": 'instance_group { kind: KIND_CPU rate_limiter { resources { name: "R" count: 1 } } }',
}


@pytest.fixture(scope="module")
def warned(tmp_path_factory):
    repository = Repository(tmp_path_factory.mktemp("warned"))
    for field, extra in WARNED.items():
        repository.write(f"with_{field}", CONFIG + extra, GOOD_FILE)
    with FerryServer(repository) as server:
        yield server


@pytest.mark.parametrize("field", WARNED)
def test_field_without_effect_yet_is_served_with_a_warning_that_names_it(warned, field):
    model = f"with_{field}"
    assert infer(warned.stub, of_rows(model, ROW)).tolist() == [[2, 3, 4, 5]]
    assert any(model in line and field in line.replace(model, "") for line in warned.log())


# Versions and files


@pytest.mark.parametrize("policy, served", [
    ("", ["10"]),
    ("version_policy { latest { } }", ["10"]),
    ("version_policy { latest { num_versions: 2 } }", ["9", "10"]),
    ("version_policy { all { } }", ["2", "9", "10"]),
    ("version_policy { specific { versions: [ 9, 2 ] } }", ["2", "9"]),
    ("version_policy { specific { versions: [ 9, 77 ] } }", ["9"]),
], ids=["default", "latest", "latest 2", "all", "specific", "specific with one absent"])
def test_version_policy_chooses_what_is_served(start, repository, policy, served):
    for version in ("2", "9", "10"):
        repository.write("many", CONFIG + policy, adds(version), version)
    stub = start(repository).stub
    assert sorted(versions(stub, "many")) == sorted((version, "READY") for version in served)
    assert list(stub.ModelMetadata(pb.ModelMetadataRequest(name="many")).versions) == served
    for version in served:
        assert added(stub, "many", version) == int(version)
    # Without a version the highest answers, and says so.
    answer = stub.ModelInfer(of_rows("many", ROW), timeout=10)
    assert answer.model_version == served[-1] and added(stub, "many") == int(served[-1])
    left_out = {"2", "9", "10"} - set(served)
    for version in left_out:
        refused(stub.ModelInfer, of_rows("many", ROW, version=version), grpc.StatusCode.NOT_FOUND)


def test_specific_versions_that_are_all_absent_fail_the_load(start, repository):
    repository.write("many", CONFIG + "version_policy { specific { versions: [ 7 ] } }", GOOD_FILE, "2")
    (entry,) = index(start(repository).stub)["many"]
    assert entry.state == "UNAVAILABLE" and "version_policy" in entry.reason and "2" in entry.reason


def test_versions_have_statistics_of_their_own(start, repository):
    for version in ("1", "2"):
        repository.write("many", CONFIG + "version_policy { all { } }", adds(version), version)
    stub = start(repository).stub
    added(stub, "many", "1")
    assert [statistics(stub, "many", each).inference_count for each in ("1", "2")] == [1, 0]
    read = stub.ModelStatistics(pb.ModelStatisticsRequest(name="many")).model_stats
    assert sorted(each.version for each in read) == ["1", "2"]


def test_b083_folders_that_are_no_versions_are_ignored_with_a_warning(start, repository):
    repository.write("odd", CONFIG + "version_policy { all { } }", adds(1))
    ignored = ["01", "0", "model", ".hidden", "2_old", "99999999999999999999", "-1", "+2"]
    for name in ignored:
        repository.write("odd", file=adds(100), version=name)
    (repository.path / "odd" / "3").write_text("a file")
    server = start(repository)
    assert versions(server.stub, "odd") == [("1", "READY")]
    assert added(server.stub, "odd") == 1
    log = server.log()
    for name in ("01", "model", "2_old", "99999999999999999999"):
        warnings = [line for line in log if f"odd/{name}" in line or f"'{name}'" in line or f'"{name}"' in line]
        assert len(warnings) == 1, (name, warnings)


def test_folders_beside_the_versions_that_have_a_meaning_are_no_warning(start, repository):
    folder = repository.write("addone", ADDONE.config(), GOOD_FILE)
    for name in ("configs", "warmup", "initial_state"):
        (folder / name).mkdir()
    server = start(repository)
    assert not [line for line in server.log() if "initial_state" in line or "configs" in line]


def test_files_beside_the_models_are_ignored(start, repository):
    repository.add(ADDONE)
    (repository.path / "README.md").write_text("hello")
    (repository.path / ".git").mkdir()
    assert set(index(start(repository).stub)) == {"addone"}


# Triton unloads the good version as well; README, "Differences from Triton".
def test_one_failing_version_leaves_the_others_served(start, repository):
    config = CONFIG + "version_policy { all { } }"
    repository.write("many", config, adds(1), "1")
    repository.write("many", config, b"junk", "2")
    stub = start(repository).stub
    states = dict(versions(stub, "many"))
    assert states == {"1": "READY", "2": "UNAVAILABLE"}


def test_default_model_filename_names_the_file(start, repository):
    repository.write("named", CONFIG + 'default_model_filename: "net.pt"', adds(3), filename="net.pt")
    stub = start(repository).stub
    assert added(stub, "named") == 3


def test_absent_default_model_file_is_named_in_the_reason(start, repository):
    repository.write("named", CONFIG + 'default_model_filename: "net.pt"', GOOD_FILE)
    (entry,) = index(start(repository).stub)["named"]
    assert entry.state == "UNAVAILABLE" and "named/1/net.pt" in entry.reason


def test_model_may_be_a_link_to_its_folder(start, tmp_path, repository):
    (Repository(tmp_path / "elsewhere").write("real", CONFIG, adds(5))).rename(tmp_path / "target")
    (repository.path / "linked").symlink_to(tmp_path / "target")
    assert added(start(repository).stub, "linked") == 5


# Several repositories


def test_models_of_several_repositories_are_served(start, tmp_path):
    first = Repository(tmp_path / "first").add(ADDONE)
    second = Repository(tmp_path / "second").add(VAR)
    stub = start(first, second).stub
    assert set(index(stub)) == {"addone", "var"} and ready(stub)


def test_model_in_two_repositories_is_not_served_and_says_why(start, tmp_path):
    first = Repository(tmp_path / "first").add(ADDONE, ADDONE.but(name="twice"))
    second = Repository(tmp_path / "second").add(ADDONE.but(name="twice"))
    server = start(first, second)
    entries = index(server.stub)["twice"]
    assert {entry.state for entry in entries} == {"UNAVAILABLE"}
    assert str(first) in entries[0].reason and str(second) in entries[0].reason
    refused(server.stub.ModelInfer, of_rows("twice", ROW), grpc.StatusCode.NOT_FOUND)
    assert_serves(server)


def test_empty_repository_is_served(start, repository):
    stub = start(repository).stub
    assert index(stub) == {} and ready(stub)


# Warm-up


def test_declared_warm_up_runs_and_is_not_counted(start, repository):
    add_slow_start(repository, "warm", steps=10, count=3)
    stub = start(repository).stub
    assert [entry.state for entry in index(stub)["warm"]] == ["READY"]
    read = statistics(stub, "warm")
    assert (read.inference_count, read.execution_count, read.inference_stats.success.count) == (0, 0, 0)


def test_model_that_refuses_made_up_values_is_served_with_a_warning(start, repository):
    server = start(repository.add(ADDONE.but(name="picky", module=(RaisesOnZero,))))
    assert infer(server.stub, of_rows("picky", ROW)).tolist() == [[2, 3, 4, 5]]
    assert any("picky" in line and "all zero" in line for line in server.log())


# Start


def test_b088_b089_models_serve_while_another_loads(start, repository):
    add_slow_start(repository, "slow", steps=1000, count=15)
    server = start(repository.add(ADDONE), wait="listening")
    stub = server.stub
    assert stub.ServerLive(pb.ServerLiveRequest()).live and not ready(stub)
    health = health_pb2_grpc.HealthStub(server.channel)
    for answer in health.Watch(health_pb2.HealthCheckRequest(service="addone"), timeout=30):
        if answer.status == health_pb2.HealthCheckResponse.SERVING:
            break
    assert infer(stub, of_rows("addone", ROW)).tolist() == [[2, 3, 4, 5]]
    # The rest is only true while the slow one loads, which takes seconds.
    assert versions(stub, "slow") == [("1", "LOADING")] and not ready(stub)
    refused(stub.ModelReady, pb.ModelReadyRequest(name="slow", version="1"), grpc.StatusCode.UNAVAILABLE)
    refused(stub.ModelReady, pb.ModelReadyRequest(name="slow"), grpc.StatusCode.NOT_FOUND)
    server.wait_for_log("ready: grpc=")
    assert ready(stub) and versions(stub, "slow") == [("1", "READY")]


def test_b089_watch_tells_when_the_server_becomes_ready(start, repository):
    add_slow_start(repository, "slow", steps=1000, count=5)
    server = start(repository.add(ADDONE), wait="listening")
    seen = []
    for answer in health_pb2_grpc.HealthStub(server.channel).Watch(health_pb2.HealthCheckRequest(), timeout=30):
        seen.append(answer.status)
        if answer.status == health_pb2.HealthCheckResponse.SERVING:
            break
    assert seen == [health_pb2.HealthCheckResponse.NOT_SERVING, health_pb2.HealthCheckResponse.SERVING]
    # Once the server is ready the first request of every model succeeds.
    assert infer(server.stub, of_rows("addone", ROW)).tolist() == [[2, 3, 4, 5]]
    assert ready(server.stub)


def test_ready_line_counts_the_models_that_serve(start, repository):
    repository.add(ADDONE, VAR)
    assert start(repository).wait_for_log(r"ready: .* models=(\d+)")[1] == "2"


def test_instance_groups_may_be_several(start, repository):
    groups = ADDONE.but(name="groups", extra="instance_group { count: 2 kind: KIND_CPU }")
    stub = start(repository.add(groups)).stub
    config = stub.ModelConfig(pb.ModelConfigRequest(name="groups")).config
    assert [group.count for group in config.instance_group] == [1, 2]
    assert len({group.name for group in config.instance_group}) == 2
    assert {group.kind for group in config.instance_group} == {model_config_pb2.ModelInstanceGroup.KIND_CPU}
    assert infer(stub, of_rows("groups", ROW)).tolist() == [[2, 3, 4, 5]]
