"""The processes that a benchmark compares: how they are started, and what they use."""

import contextlib
import functools
import json
import os
import pathlib
import socket
import subprocess
import sys
import sysconfig
import threading

import grpc
import torch
from tritonclient.grpc import service_pb2, service_pb2_grpc

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from ferry_server import BINARY, FerryServer  # noqa: E402

PROGRAMS = BINARY.parent  # the build that has the server has the programs of the benchmarks
TRITON_STARTED = "Started GRPCInferenceService"
PATIENCE = 120  # seconds for one step on a slow machine


def pinned(core):
    """The beginning of a command whose process, threads and children shall run on this core alone."""
    return ["taskset", "--cpu-list", str(core)]


# What a process uses


def stat_fields(pid):
    """The fields of /proc/PID/stat behind the name, which may have blanks in it: the first is the state."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def processor_seconds(*pids):
    """User and system time so far."""
    ticks = sum(int(ticks) for pid in pids for ticks in stat_fields(pid)[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


def children(pid):
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # some end while we look
            if int(stat_fields(folder.name)[1]) == pid:
                found.append(int(folder.name))
    return found


# Programs that measure


class Report:
    """What a program of the benchmarks prints: a name and a value a line, and refusals by (code, message)."""

    def __init__(self, text):
        self.values, self.refusals = {}, {}
        for line in text.splitlines():
            name, value = line.split(" ", 1)
            if name == "refusal":
                code, count, message = value.split(" ", 2)
                self.refusals[int(code), message] = int(count)
            else:
                self.values[name] = float(value)

    def __getattr__(self, name):
        return self.values[name]


def program(name, *arguments, prefix=()):
    command = [*prefix, str(PROGRAMS / name), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def report_of(process, timeout=PATIENCE):
    try:
        text, _ = process.communicate(timeout=timeout)
    finally:
        process.kill()
    if process.returncode != 0:
        sys.exit(f"{' '.join(process.args)} ended with {process.returncode}")
    return Report(text)


def load(address, message_file, **options):
    """A load client under way; options as load_client has them, with underscores."""
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    return program("load_client", f"--target={address}", f"--message={message_file}", *flags)


# Servers: each has an address and the ids of its processes


class Ferry(FerryServer):
    @property
    def pids(self):
        return [self.pid]


class Echo:
    def __init__(self, *arguments, prefix):
        self.process = program("echo_server", *arguments, prefix=prefix)
        self.address = f"127.0.0.1:{int(self.process.stdout.readline())}"
        self.pids = [self.process.pid]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


TRITON_MODEL = '''
import sys
sys.path[:0] = {path}
import numpy, torch
import triton_python_backend_utils as pb


class TritonPythonModel:
    def initialize(self, args):
        torch.set_num_threads(1)
        self.model = torch.jit.load("{file}").eval()

    def execute(self, requests):
        inputs = [pb.get_input_tensor_by_name(request, "INPUT__0").as_numpy() for request in requests]
        with torch.inference_mode():
            output = self.model(torch.from_numpy(numpy.concatenate(inputs))).numpy()
        answers, begin = [], 0
        for each in inputs:
            rows = pb.Tensor("OUTPUT__0", output[begin:begin + len(each)])
            answers.append(pb.InferenceResponse([rows]))
            begin += len(each)
        return answers
'''


def free_ports(count):
    """For servers that cannot choose one themselves."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Triton:
    """Triton as scripts/fetch_triton gets it. Its models are in Python and call Ferry's files on the same torch."""

    def __init__(self, folder, repository, models, prefix):
        self.folder, self.repository = pathlib.Path(folder).resolve(), pathlib.Path(repository)
        for model in models:
            self._write(model)
        self.process = subprocess.Popen(
            [*prefix, *self._command()], env=self._environment(), stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        log = []
        for line in self.process.stderr:  # it opens its port when all models are loaded
            log.append(line)
            if TRITON_STARTED in line:
                break
        else:
            sys.exit("".join(log[-40:]) + "Triton did not start; the end of its log is above")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.pids = [self.process.pid, *children(self.process.pid)]  # each model has a process of its own

    def _write(self, model):
        """`model` is its folder in Ferry's repository."""
        version = self.repository / model.name / "1"
        version.mkdir(parents=True)
        config = (model / "config.pbtxt").read_text()
        (version.parent / "config.pbtxt").write_text(
            config.replace('platform: "pytorch_libtorch"', 'backend: "python"'))
        path = [str(self.folder / "packages"), str(pathlib.Path(torch.__file__).parents[1])]
        (version / "model.py").write_text(TRITON_MODEL.format(path=path, file=model / "1" / "model.pt"))

    def _command(self):
        (port,) = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        server = self.folder / "server"
        return [str(server / "bin" / "tritonserver"), f"--model-repository={self.repository}",
                f"--backend-directory={server / 'backends'}", "--grpc-address=127.0.0.1", f"--grpc-port={port}",
                "--allow-http=false", "--allow-metrics=false"]

    def _environment(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
        libraries = [str(self.folder / "packages" / "nvidia_pytriton.libs"), sysconfig.get_config_var("LIBDIR")]
        return environment | {"OMP_NUM_THREADS": "1", "LD_LIBRARY_PATH": ":".join(libraries)}

    @functools.cached_property
    def stub(self):
        return service_pb2_grpc.GRPCInferenceServiceStub(grpc.insecure_channel(self.address))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)


MLSERVER_RUNTIME = '''
import sys
sys.path.append({packages!r})  # behind MLServer's own
import numpy, torch
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse

torch.set_num_threads(1)


class TorchScript(MLModel):
    async def load(self):
        self._model = torch.jit.load({file!r}).eval()
        return True

    async def predict(self, payload):
        rows = NumpyCodec.decode_input(payload.inputs[0])
        with torch.inference_mode():
            output = self._model(torch.from_numpy(rows)).numpy()
        return InferenceResponse(model_name=self.name, outputs=[NumpyCodec.encode_output("OUTPUT__0", output)])
'''


class MLServer:
    """MLServer as scripts/fetch_mlserver gets it, with one model of FP32 vectors that it batches, on the same torch."""

    def __init__(self, folder, repository, model, prefix, width, answer_width, max_batch_size):
        packages, repository = pathlib.Path(folder).resolve() / "packages", pathlib.Path(repository)
        repository.mkdir(parents=True)
        torch_packages = str(pathlib.Path(torch.__file__).parents[1])
        (repository / "runtime.py").write_text(
            MLSERVER_RUNTIME.format(packages=torch_packages, file=str(model / "1" / "model.pt")))
        vector = {"datatype": "FP32", "parameters": None}
        self._write(repository / "model-settings.json", {
            "name": model.name, "implementation": "runtime.TorchScript",
            "max_batch_size": max_batch_size, "max_batch_time": 0.002,
            "inputs": [vector | {"name": "INPUT__0", "shape": [-1, width]}],
            "outputs": [vector | {"name": "OUTPUT__0", "shape": [-1, answer_width]}]})
        ports = free_ports(3)
        self._write(repository / "settings.json", {
            "host": "127.0.0.1", "grpc_port": ports[0], "http_port": ports[1], "metrics_port": ports[2],
            "parallel_workers": 0, "debug": False})
        self.address = f"127.0.0.1:{ports[0]}"
        log = repository / "log"
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-c", "from mlserver.cli import main; main()", "start", str(repository)], stdout=log.open("w"),
            stderr=subprocess.STDOUT, env=os.environ | {"PYTHONPATH": str(packages), "OMP_NUM_THREADS": "1"})
        self.pids = [self.process.pid]
        self._wait(log, model.name)

    @staticmethod
    def _write(path, settings):
        path.write_text(json.dumps(settings))

    def _wait(self, log, name):
        stub = service_pb2_grpc.GRPCInferenceServiceStub(grpc.insecure_channel(self.address))
        request = service_pb2.ModelReadyRequest(name=name)
        try:
            ready = stub.ModelReady(request, wait_for_ready=True, timeout=PATIENCE).ready
        except grpc.RpcError:
            ready = False
        if not ready:
            self.process.kill()
            sys.exit(log.read_text()[-3000:] + "MLServer did not start; the end of its log is above")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)
