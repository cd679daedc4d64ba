"""The models of the tests, and the writer of the repositories that hold them.

A Model is a TorchScript module and its config; `but()` makes a variant of it. Forward arguments are
never named like the inputs of the config unless the test is about names.
"""

import dataclasses
import functools
import io
import pathlib
from typing import Dict, List

import torch

# Modules


class AddOne(torch.nn.Module):
    def __init__(self, amount: float = 1.0):
        super().__init__()
        self.amount = amount

    def forward(self, x: torch.Tensor):
        return x + self.amount


class Identity(torch.nn.Module):
    """Returns its argument itself, so that the output is the server's own input buffer."""

    def forward(self, x: torch.Tensor):
        return x


class Probe(torch.nn.Module):
    """Returns [X[:, 0], rows of this execution] for each row; N products of matrices take the time."""

    def __init__(self):
        super().__init__()
        self.register_buffer("eye", torch.eye(128))

    def forward(self, X: torch.Tensor, N: torch.Tensor):
        product = self.eye
        for _ in range(int(N.max())):
            product = product @ self.eye
        rows = torch.full([X.size(0)], float(X.size(0)))
        return torch.stack([X[:, 0] * product[0, 0], rows], 1)


class Gated(torch.nn.Module):
    """Probe that waits for gate G of a file (gates.py); a third column counts the executions of all models."""

    def __init__(self, path: str):
        super().__init__()
        self.path = path

    def forward(self, X: torch.Tensor, G: torch.Tensor):
        gate = int(G.max())
        # Mapped anew for each execution; a size known beforehand would let the compiler read it once for all.
        flags = torch.from_file(self.path, shared=True, size=2 * gate + 2, dtype=torch.int32)
        flags[0] += 1
        turn = int(flags[0])
        if gate > 0:
            flags[2 * gate] = 1
            while int(flags[2 * gate + 1]) == 0:
                pass
        rows = torch.full([X.size(0)], float(X.size(0)))
        return torch.stack([X[:, 0], rows, torch.full_like(rows, float(turn))], 1)


class RaisesOnNegative(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if bool((x < 0).any()):
            raise ValueError("negative input")
        return x + 1


class RaisesOnZero(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if bool((x == 0).all()):
            raise ValueError("all zero")
        return x + 1


class ImpossibleMemoryOnNegative(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        if bool((x < 0).any()):
            return torch.zeros([1000000000000000])
        return x + 1


class GreedyBeyondTwoRows(torch.nn.Module):
    """Asks for petabytes for each row after the second."""

    def forward(self, x: torch.Tensor):
        return x + 1 + torch.zeros([max(x.size(0) - 2, 0) * 1000000000000000]).sum()


class TenTimesAPlusB(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor):
        return a * 10 + b


class ThreeDigits(torch.nn.Module):
    def forward(self, hundreds: torch.Tensor, tens: torch.Tensor, ones: torch.Tensor):
        return hundreds * 100 + tens * 10 + ones


class SumRows(torch.nn.Module):
    """Breaks the batching contract: one row comes out, however many go in."""

    def forward(self, x: torch.Tensor):
        return x.sum(0, keepdim=True)


class Positives(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x[x > 0]


class DivideByZero(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x / 0


class Counter(torch.nn.Module):
    """Returns a buffer of the module that the next execution changes in place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor):
        self.calls += 1
        return self.calls


class Embedding(torch.nn.Module):
    """Ten rows; row i is [i, i, i, i]."""

    def __init__(self):
        super().__init__()
        table = torch.arange(10.0)[:, None].repeat(1, 4)
        self.rows = torch.nn.Embedding.from_pretrained(table)

    def forward(self, x: torch.Tensor):
        return self.rows(x[:, 0])


class Mlp(torch.nn.Module):
    """Ten layers of 512 with fixed weights; the parameters still require gradients."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        layers = [torch.nn.Linear(16, 512)]
        for _ in range(8):
            layers += [torch.nn.ReLU(), torch.nn.Linear(512, 512)]
        self.layers = torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(512, 4))
        for layer in self.layers[::2]:
            # Keeps the values large through the layers, so that two inputs never have nearly equal outputs.
            torch.nn.init.kaiming_normal_(layer.weight)

    def forward(self, x: torch.Tensor):
        return self.layers(x)


class Transpose(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x.transpose(1, 2)


class DictIn(torch.nn.Module):
    def forward(self, inputs: Dict[str, torch.Tensor]):
        return inputs["tens"] * 10 + inputs["ones"]


class DictOut(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return {"double": x * 2, "half": x / 2}


class TupleOut(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x + 1, x + 2, x + 3


class ListOut(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> List[torch.Tensor]:
        return [x + 1, x + 2, x + 3]


@functools.cache
def torchscript(module_class, *arguments):
    """The bytes of a model file."""
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(module_class(*arguments).eval()), file)
    return file.getvalue()


# Models


def tensor(name, datatype, *dims):
    return name, datatype, list(dims)


def fp32(name, *dims):
    return tensor(name, "FP32", *dims)


@dataclasses.dataclass(frozen=True)
class Model:
    """A module and what its config.pbtxt says. `extra` is text at the config's end."""

    name: str
    module: tuple
    inputs: list
    outputs: list
    max_batch_size: int = 8
    instances: int = 1
    kind: str = "KIND_CPU"
    threads: int | None = None
    extra: str = ""

    def but(self, **changes):
        return dataclasses.replace(self, **changes)

    def batching(self, name, delay_us=0, fields="", **changes):
        """This model under dynamic batching."""
        delay = f"max_queue_delay_microseconds: {delay_us}"
        return self.but(name=name, extra=f"dynamic_batching {{ {delay} {fields} }}\n{self.extra}", **changes)

    def file(self):
        return torchscript(*self.module)

    def config(self):
        lines = [
            f'name: "{self.name}"',
            'platform: "pytorch_libtorch"',
            f"max_batch_size: {self.max_batch_size}",
            *(_tensor_config("input", *each) for each in self.inputs),
            *(_tensor_config("output", *each) for each in self.outputs),
            f"instance_group {{ count: {self.instances} kind: {self.kind} }}",
            "" if self.threads is None else parameter("INTRA_OP_THREAD_COUNT", self.threads),
            self.extra,
        ]
        return "\n".join(lines) + "\n"


def parameter(key, value):
    return f'parameters {{ key: "{key}" value: {{ string_value: "{value}" }} }}'


def _tensor_config(kind, name, datatype, dims, extra=""):
    return f'{kind} {{ name: "{name}" data_type: TYPE_{datatype} dims: {dims} {extra} }}'


ADDONE = Model("addone", (AddOne,), [fp32("INPUT__0", 4)], [fp32("OUTPUT__0", 4)])
VAR = Model("var", (Identity,), [fp32("INPUT__0", -1)], [fp32("OUTPUT__0", -1)])
VAR3 = Model("var3", (Identity,), [fp32("INPUT__0", -1, -1)], [fp32("OUTPUT__0", -1, -1)])
# One thread: products shared between threads that others crowd out take a hundred times as long.
PROBE = Model("probe", (Probe,), [fp32("X", 2), tensor("N", "INT64", 1)], [fp32("OUTPUT__0", 2)], threads=1)
RZ = ADDONE.but(name="rz", module=(RaisesOnNegative,))
TWO = Model("two", (TenTimesAPlusB,), [fp32("INPUT__0", 1), fp32("INPUT__1", 1)], [fp32("OUTPUT__0", 1)])
SUMROWS = ADDONE.but(name="sumrows", module=(SumRows,))
MLP = Model("mlp", (Mlp,), [fp32("INPUT__0", 16)], [fp32("OUTPUT__0", 4)])
EMBEDDING = Model("embedding", (Embedding,), [tensor("INPUT__0", "INT64", 1)], [fp32("OUTPUT__0", 4)])
COUNTER = Model("counter", (Counter,), [fp32("INPUT__0", 1)], [fp32("OUTPUT__0", 1)], max_batch_size=0)
THREE_OUT = Model(
    "three_out", (TupleOut,), [fp32("INPUT__0", 1)], [fp32(f"OUTPUT__{i}", 1) for i in range(3)])

# Each datatype that a tensor of the protocol can have, BYTES apart.
DATATYPES = ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64",
             "FP16", "BF16", "FP32", "FP64"]


def identity(datatype):
    return Model(f"identity_{datatype.lower()}", (Identity,),
                 [tensor("INPUT__0", datatype, -1)], [tensor("OUTPUT__0", datatype, -1)])


# Models that every test may use; they are served by the one server of the session.
COMMON = [
    ADDONE, VAR, VAR3, PROBE, RZ, TWO, EMBEDDING, COUNTER, THREE_OUT,
    *(identity(datatype) for datatype in DATATYPES),
    ADDONE.but(name="addone_unbatched", max_batch_size=0),
    ADDONE.but(name="addone_64", max_batch_size=64),
    VAR.but(name="var_unbatched", max_batch_size=0),
    TWO.but(name="two_var", inputs=[fp32("INPUT__0", -1), fp32("INPUT__1", -1)],
            outputs=[fp32("OUTPUT__0", -1)]),
    VAR.but(name="positives", module=(Positives,), max_batch_size=0),
    VAR.but(name="divide_by_zero", module=(DivideByZero,)),
]


# Repositories


class Repository:
    """A folder of models that a server can serve."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)

    def __str__(self):
        return str(self.path)

    def add(self, *models):
        for model in models:
            self.write(model.name, model.config(), model.file())
        return self

    def write(self, name, config=None, file=None, version="1", filename="model.pt"):
        """Writes what is given and returns the model's folder."""
        folder = self.path / name
        folder.mkdir(exist_ok=True)
        if config is not None:
            (folder / "config.pbtxt").write_bytes(config if isinstance(config, bytes) else config.encode())
        if file is not None:
            (folder / version).mkdir(exist_ok=True)
            (folder / version / filename).write_bytes(file)
        return folder


def warmup(name, inputs, count=1, batch_size=1):
    """A model_warmup entry; `inputs` maps an input's name to its fields as text."""
    entries = " ".join(f'inputs {{ key: "{key}" value {{ {fields} }} }}' for key, fields in inputs.items())
    return f'model_warmup {{ name: "{name}" batch_size: {batch_size} count: {count} {entries} }}'


def add_slow_start(repository, name, steps, count):
    """Adds a probe whose warm-up runs `count` samples of `steps` matrix products each."""
    sample = warmup("slow", {
        "X": "data_type: TYPE_FP32 dims: [ 2 ] zero_data: true",
        "N": 'data_type: TYPE_INT64 dims: [ 1 ] input_data_file: "steps"',
    }, count)
    folder = repository.write(name, PROBE.but(name=name, extra=sample).config(), PROBE.file())
    (folder / "warmup").mkdir()
    (folder / "warmup" / "steps").write_bytes(steps.to_bytes(8, "little"))
