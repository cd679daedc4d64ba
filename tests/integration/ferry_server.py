"""Runs one ferry process on a model repository and gives the tests its ports, log and end."""

import functools
import os
import pathlib
import pwd
import re
import signal
import subprocess
import threading
import time

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("FERRY_BINARY", ROOT / "build" / "release" / "ferry"))

LISTENING = re.compile(r"listening: grpc=\S+:(\d+)(?: metrics=\S+:(\d+))?")
READY = re.compile(r"ready: grpc=")

# Sanitizer builds and busy machines are slow; a hang still ends the test.
START_TIMEOUT = 90
STOP_TIMEOUT = 40


class FerryServer:
    """A running server. As a context manager it is stopped by SIGTERM and must then exit with 0.

    `prefix` is a command that becomes the server when it has set something up, such as taskset.
    """

    def __init__(self, *repositories, flags=(), wait="ready", user=None, prefix=()):
        if not BINARY.exists():
            raise FileNotFoundError(f"{BINARY} is missing: build the release preset or set FERRY_BINARY")
        command = [*prefix, str(BINARY)]
        command += [f"--model-repository={repository}" for repository in repositories]
        # Flags of the test come last and so may replace these.
        command += ["--grpc-address=127.0.0.1", "--metrics-address=127.0.0.1"]
        command += [f"--{name}-port=0" for name in ("grpc", "metrics") if not _names_port(flags, name)]
        command += flags
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, errors="replace", **_identity(user))
        self._lines = []
        self._log_ended = False
        self._ending = False
        self._changed = threading.Condition()
        threading.Thread(target=self._read_log, daemon=True).start()
        if wait is not None:
            self._wait_until_open(READY if wait == "ready" else LISTENING)

    # Log

    def _read_log(self):
        for line in self.process.stderr:
            with self._changed:
                self._lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._log_ended = True
            self._changed.notify_all()

    def _match(self, pattern):
        return next((m for m in (re.search(pattern, line) for line in self._lines) if m), None)

    def wait_for_log(self, pattern, timeout=START_TIMEOUT):
        """Returns the match of the first log line that has the pattern, from the start of the log."""
        with self._changed:
            self._changed.wait_for(lambda: self._match(pattern) or self._log_ended, timeout)
            match = self._match(pattern)
        assert match, f"no log line matches {pattern!r}\n{self.log_tail()}"
        return match

    def log(self):
        with self._changed:
            return list(self._lines)

    def log_tail(self, lines=40):
        return "\n".join(["--- the server's log ends with:", *self.log()[-lines:]])

    # Addresses

    def _wait_until_open(self, pattern):
        try:
            self.wait_for_log(pattern)
            ports = self.wait_for_log(LISTENING)
            self.grpc_port = int(ports[1])
            self.metrics_port = int(ports[2]) if ports[2] else None
            # The first call opens the connection, so that no test measures that.
            self.stub.ServerLive(service_pb2.ServerLiveRequest(), timeout=10)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self):
        return self.process.pid

    @property
    def address(self):
        return f"127.0.0.1:{self.grpc_port}"

    @functools.cached_property
    def channel(self):
        unlimited = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
        return grpc.insecure_channel(self.address, options=unlimited)

    @functools.cached_property
    def stub(self):
        return service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    # What the process uses

    def resident_bytes(self):
        pages = pathlib.Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def peak_bytes(self):
        """The most resident memory since forget_peak(), or since the start."""
        lines = pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))

    def thread_count(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    # End

    def alive(self):
        return self.process.poll() is None

    def assert_alive(self):
        assert self.alive(), f"the server ended with {self.process.returncode}\n{self.log_tail()}"

    def signal(self, number=signal.SIGTERM):
        self._ending = True
        self.process.send_signal(number)

    def wait_exit(self, timeout=STOP_TIMEOUT):
        """Waits for the end and returns the exit code."""
        self._ending = True
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the server did not end within {timeout} s\n{self.log_tail()}") from None
        with self._changed:
            self._changed.wait_for(lambda: self._log_ended, 5)
        return self.process.returncode

    def stop(self):
        self.assert_alive()
        self.signal()
        code = self.wait_exit()
        assert code == 0, f"the server ended with {code} after SIGTERM\n{self.log_tail()}"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, error_type, *_):
        if "channel" in self.__dict__:
            self.channel.close()
        if error_type is not None or self._ending:
            # A test that ended it itself may have failed on the way.
            self.kill()
        else:
            self.stop()


def _identity(user):
    if user is None:
        return {}
    # The groups go too, or root's would lend the user their rights.
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def _names_port(flags, name):
    return any(flag.startswith(f"--{name}-port=") for flag in flags)


def wait_until(condition, timeout=10, what="the condition"):
    """For states that no event announces: asks again until the condition holds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not hold within {timeout} s"
        time.sleep(0.02)
