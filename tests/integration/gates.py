"""Executions that last until the test lets them end, so that no test guesses how long work takes.

A gated model waits inside an execution at the gate that its input G names; gate 0 is always open. The gates
are a file that the tests and the model map: two numbers a gate, the first set by an execution that waits
there, the second by the test that opens it. It waits by looking again and again, and so keeps a core busy.
"""

import dataclasses

import grpc
import numpy as np
from ferry_server import wait_until
from metrics_text import pending
from models import Gated, Model, fp32, tensor
from wire import TIMEOUT, arrays, of_arrays

GATES = 1024


class Gates:
    def __init__(self, path):
        self._path = str(path)
        np.zeros([GATES, 2], np.int32).tofile(self._path)
        self._flags = np.memmap(self._path, np.int32, "r+", shape=(GATES, 2))
        self._used = 0

    def model(self, name="gated", **changes):
        """A model without batching whose inputs are rows of any one width."""
        inputs = [fp32("X", -1), tensor("G", "INT64", 1)]
        return Model(name, (Gated, self._path), inputs, [fp32("OUTPUT__0", 3)], **changes)

    def send(self, stub, model, value=-1, timeout=TIMEOUT, **fields):
        """Sends a request that will wait at a gate of its own once it is executed."""
        self._used += 1
        message = of_gated(model, [value], self._used, **fields)
        return Held(self, self._used, stub.ModelInfer.future(message, timeout=timeout))

    def hold(self, stub, model, value=-1, **fields):
        """Takes an instance; returns once its execution is at the gate."""
        held = self.send(stub, model, value, **fields)
        wait_until(held.executing, what="the execution's begin")
        return held

    def waits_at(self, gate):
        return self._flags[gate, 0] == 1

    def open(self, gate):
        self._flags[gate, 1] = 1

    def open_all(self):
        self._flags[1:self._used + 1, 1] = 1


@dataclasses.dataclass
class Held:
    """A request whose execution waits at a gate."""

    gates: Gates
    gate: int
    future: grpc.Future

    def executing(self):
        return self.gates.waits_at(self.gate)

    def release(self):
        self.gates.open(self.gate)

    def finish(self):
        self.release()
        return answer(self.future)


def of_gated(model, values, gate=0, width=2, **fields):
    """One row a value."""
    rows = np.zeros((len(values), width), np.float32)
    rows[:, 0] = values
    return of_arrays(model, {"X": rows, "G": np.full((len(values), 1), gate, np.int64)}, **fields)


def answer(future):
    """(value, rows of the execution, turn of the execution) for each row."""
    return [tuple(row) for row in arrays(future.result())["OUTPUT__0"].tolist()]


def values(futures):
    return [row[0] for future in futures for row in answer(future)]


def turns(futures):
    """The turns of one-row requests, to compare."""
    return [answer(future)[0][2] for future in futures]


def enqueue(server, model, messages, timeout=TIMEOUT):
    """Sends requests one after the other, each when the one before waits in the queue."""
    futures = []
    for message in messages:
        before = pending(server, model)
        futures.append(server.stub.ModelInfer.future(message, timeout=timeout))
        wait_until(lambda: pending(server, model) > before, what="the request in the queue")
    return futures
