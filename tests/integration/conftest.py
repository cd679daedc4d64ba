import contextlib

import pytest
from ferry_server import FerryServer
from gates import Gates
from models import COMMON, Repository


def pytest_configure(config):
    # TorchScript is deprecated and still what these models are.
    config.addinivalue_line("filterwarnings", "ignore:.torch.jit:DeprecationWarning")


class SharedServer:
    """The session's server on the common models. One that died is replaced for the next test."""

    def __init__(self, repository):
        self._repository = repository
        self._server = None

    def running(self):
        if self._server is None or not self._server.alive():
            self._server = FerryServer(self._repository)
        return self._server

    def stop(self):
        if self._server is not None and self._server.alive():
            self._server.stop()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory):
    shared = SharedServer(Repository(tmp_path_factory.mktemp("common")).add(*COMMON))
    yield shared
    shared.stop()


@pytest.fixture
def server(shared_server):
    """The session's server, which every test must leave alive."""
    server = shared_server.running()
    yield server
    server.assert_alive()


@pytest.fixture
def stub(server):
    """The stub of the module's server, or else of the session's."""
    yield server.stub
    server.assert_alive()


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


@pytest.fixture
def start_server(start, repository):
    """Starts a server of the test's own with these models."""
    return lambda *models: start(repository.add(*models))


@pytest.fixture
def start():
    """Starts servers of the test's own. Each must end with 0, unless the test has ended it itself."""
    with contextlib.ExitStack() as servers:
        yield lambda *args, **options: servers.enter_context(FerryServer(*args, **options))


@pytest.fixture(scope="session")
def all_gates(tmp_path_factory):
    return Gates(tmp_path_factory.mktemp("gates") / "gates")


@pytest.fixture
def gates(all_gates, start):
    """The gates; all are opened at the test's end, before a server of its own waits for what it runs."""
    yield all_gates
    all_gates.open_all()
