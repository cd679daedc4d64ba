"""Models that must fail to load: name -> (what is broken, the words that the reason must have).

What is broken is the config, the file, or the module and its warm-up, by the table it stands in.
"""

import io
import re
import zipfile

import torch
from models import ADDONE, AddOne, RaisesOnZero, fp32, tensor, torchscript, warmup

GOOD_FILE = torchscript(AddOne)

# One field a line, so that an error's place is known.
CONFIG = """\
platform: "pytorch_libtorch"
max_batch_size: 8
input [
  { name: "INPUT__0" data_type: TYPE_FP32 dims: [ 4 ] }
]
output [
  { name: "OUTPUT__0" data_type: TYPE_FP32 dims: [ 4 ] }
]
"""


def changed(old, new):
    assert CONFIG.count(old) >= 1
    return CONFIG.replace(old, new, 1)


def place(line, column=r"\d+"):
    return re.compile(rf"config\.pbtxt:{line}:{column}\b")


# B092: the reason gives file, line and column, and the token where there is one.
SYNTAX_ERRORS = {
    "missing_brace": (changed("dims: [ 4 ] }", "dims: [ 4 ]"), [place(5)]),
    "placeholder": (changed("max_batch_size: 8", "max_batch_size: $x"), [place(2, 17), "$"]),
    "unknown_field": (changed("max_batch_size", "max_batchsize"), [place(2), "max_batchsize"]),
    "wrong_enum": (changed("TYPE_FP32", "TYPE_FLOAT"), [place(4), "TYPE_FLOAT"]),
    "text_for_a_number": (changed("8", '"eight"'), [place(2, 17), "eight"]),
    "number_too_large": (changed("8", "99999999999"), [place(2, 17), "99999999999"]),
    "fraction_for_a_number": (changed("8", "1.5"), [place(2, 17), "1.5"]),
    "field_twice": (changed("max_batch_size: 8", "max_batch_size: 8\nmax_batch_size: 4"),
                    [place(3), "max_batch_size"]),
    "comma_at_the_end_of_a_list": (changed("[ 4 ] }\n]", "[ 4 ] },\n]"), [place(5)]),
    "unclosed_string": (changed('"pytorch_libtorch"', '"pytorch_libtorch'), [place(1)]),
    "noise": (b"\x00\xff\xfe" * 100, [place(1)]),
    "ten_megabytes": ("potato " * 1_500_000, [place(1), "potato"]),
}

# Each names the file, the field and the value.
FIELD_ERRORS = {
    "empty_config": ("", ["config.pbtxt"]),
    "negative_batch": (changed("8", "-1"), ["max_batch_size", "-1"]),
    "unknown_backend": (changed("platform", 'backend: "potato"\nplatform'), ["backend", "potato"]),
    "unknown_platform": (changed("pytorch_libtorch", "potato"), ["platform", "potato"]),
    "platform_of_another_backend": (changed("pytorch_libtorch", "onnxruntime_onnx"),
                                    ["platform", "onnxruntime_onnx"]),
    "name_of_another": ('name: "somebody"\n' + CONFIG, ["name", "somebody", "name_of_another"]),
    "no_inputs": (CONFIG[:CONFIG.index("input")] + CONFIG[CONFIG.index("output"):], ["input"]),
    "no_outputs": (CONFIG[:CONFIG.index("output")], ["output"]),
    "input_without_a_name": (changed('name: "INPUT__0"', ""), ["input", "name"]),
    "input_without_dims": (changed("dims: [ 4 ]", ""), ["INPUT__0", "dims"]),
    "preferred_above_maximum": (CONFIG + "dynamic_batching { preferred_batch_size: [ 4, 16 ] }",
                                ["preferred_batch_size", "16", "8"]),
    "preferred_zero": (CONFIG + "dynamic_batching { preferred_batch_size: 0 }", ["preferred_batch_size", "0"]),
    "gpus_of_a_cpu_group": (CONFIG + "instance_group { kind: KIND_CPU gpus: [ 0 ] }", ["gpus"]),
    "negative_instances": (CONFIG + "instance_group { kind: KIND_CPU count: -2 }", ["count", "-2"]),
    "gpu_kind": (CONFIG + "instance_group { kind: KIND_GPU }", ["KIND_GPU"]),
    "nhwc_of_one_dimension": (changed("dims", "format: FORMAT_NHWC dims"), ["INPUT__0", "format", "3", "1"]),
    "string_input": (changed("TYPE_FP32", "TYPE_STRING"), ["INPUT__0", "TYPE_STRING"]),
    "string_output": (changed('OUTPUT__0" data_type: TYPE_FP32', 'OUTPUT__0" data_type: TYPE_STRING'),
                      ["OUTPUT__0", "TYPE_STRING"]),
    "file_outside": (CONFIG + 'default_model_filename: "../../addone/1/model.pt"', ["default_model_filename"]),
    "absolute_file": (CONFIG + 'default_model_filename: "/etc/passwd"', ["default_model_filename"]),
    "bad_boolean_parameter": (
        CONFIG + 'parameters { key: "DISABLE_OPTIMIZED_EXECUTION" value { string_value: "maybe" } }',
        ["DISABLE_OPTIMIZED_EXECUTION", "maybe"]),
}

REFUSED_FEATURES = {
    "sequence": (CONFIG + "sequence_batching { }", ["sequence_batching"]),
    "ensemble": (CONFIG + "ensemble_scheduling { }", ["ensemble"]),
    "decoupled": (CONFIG + "model_transaction_policy { decoupled: true }", ["decoupled"]),
}

# B056: dims, reshape and the words of the reason.
SHAPE_ERRORS = {
    "reshape_of_another_size": ("[ 4 ]", "[ 5 ]", ["[4]", "[5]"]),
    "reshape_loses_a_dimension": ("[ 4, -1 ]", "[ -1 ]", ["[4,-1]", "[-1]"]),
    "reshape_adds_a_wildcard": ("[ 4 ]", "[ 2, -1 ]", ["[4]", "[2,-1]"]),
    "dims_empty": ("[ ]", None, ["dims"]),
    "dims_zero": ("[ 0 ]", None, ["dims", "0"]),
    "dims_minus_two": ("[ -2 ]", None, ["dims", "-2"]),
}


def _shape_config(dims, reshape):
    reshape = "" if reshape is None else f"reshape {{ shape: {reshape} }}"
    return changed("dims: [ 4 ]", f"dims: {dims} {reshape}")


def _twenty_inputs(inputs=None, outputs=None):
    """B094: a config of 20 inputs and 3 outputs, of which some are replaced."""
    lines = ['platform: "pytorch_libtorch"', "max_batch_size: 8"]
    for kind, count, replaced in (("input", 20, inputs), ("output", 3, outputs)):
        for i in range(count):
            fields = f'name: "{kind.upper()}__{i}" data_type: TYPE_FP32 dims: 4'
            lines.append(f"{kind} {{ {(replaced or {}).get(i, fields)} }}")
    return "\n".join(lines)


TENSOR_ERRORS = {
    "input_without_a_type": (_twenty_inputs(inputs={13: 'name: "INPUT__13" dims: 4'}),
                             ["input", "INPUT__13", "data_type"]),
    "output_without_dims": (_twenty_inputs(outputs={2: 'name: "OUTPUT__2" data_type: TYPE_FP32'}),
                            ["output", "OUTPUT__2", "dims"]),
    "input_twice": (_twenty_inputs(inputs={3: 'name: "INPUT__1" data_type: TYPE_FP32 dims: 4'}),
                    ["input", "INPUT__1"]),
    "output_twice": (_twenty_inputs(outputs={2: 'name: "OUTPUT__0" data_type: TYPE_FP32 dims: 4'}),
                     ["output", "OUTPUT__0"]),
}

# B058: what the model returns is not what the config says; the warm-up finds it.
OUTPUT_ERRORS = {
    "output_of_other_dims": ([fp32("OUTPUT__0", 5)], ["OUTPUT__0", "5", "4"]),
    "output_of_other_rank": ([fp32("OUTPUT__0", 2, 2)], ["OUTPUT__0", "2,2]", "4]"]),
    "output_of_other_type": ([tensor("OUTPUT__0", "INT64", 4)], ["OUTPUT__0", "INT64", "FP32"]),
    "output_that_is_not_there": ([fp32("OUTPUT__0", 4), fp32("OUTPUT__1", 4)], ["OUTPUT__1"]),
}


def _zip_of(**entries):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return file.getvalue()


def _rewritten(old, new):
    """The model file with its code changed."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(GOOD_FILE)) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, content.replace(old, new) if name.endswith(".py") else content)
    return file.getvalue()


def _state_dict():
    file = io.BytesIO()
    torch.save(torch.nn.Linear(2, 2).state_dict(), file)
    return file.getvalue()


# B101: bytes that are no model.
FILES = {
    "file_empty": b"",
    "file_of_one_byte": b"P",
    "file_cut_in_half": GOOD_FILE[:len(GOOD_FILE) // 2],
    "file_without_its_last_byte": GOOD_FILE[:-1],
    "file_random": torch.randint(0, 256, (1 << 20,), dtype=torch.uint8).numpy().tobytes(),
    "file_plain_zip": _zip_of(**{"hello.txt": "hello"}),
    "file_zip_that_climbs": _zip_of(**{"../../../climbed.txt": "x", "archive/data.pkl": "x"}),
    "file_state_dict": _state_dict(),
    "file_with_an_unknown_operator": _rewritten(b"torch.add(", b"ops.nosuch.add("),
    "file_with_broken_code": _rewritten(b"return", b"retrun"),
}

# B080: the warm-up fails.
ZERO = "data_type: TYPE_FP32 dims: [ 4 ] zero_data: true"
WARM_UPS = {
    "warmup_raises": ((RaisesOnZero,), warmup("first", {"INPUT__0": ZERO}), ["first", "all zero"]),
    "warmup_of_an_unknown_input": ((AddOne,), warmup("first", {"potato": ZERO}), ["first", "potato"]),
    "warmup_of_a_wrong_shape": ((AddOne,), warmup("first", {"INPUT__0": ZERO.replace("4", "5")}),
                                ["first", "INPUT__0"]),
    "warmup_of_a_wrong_type": ((AddOne,), warmup("first", {"INPUT__0": ZERO.replace("FP32", "INT8")}),
                               ["first", "INPUT__0"]),
    "warmup_without_a_file": ((AddOne,), warmup(
        "first", {"INPUT__0": 'data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "absent"'}), ["first", "absent"]),
    "warmup_file_outside": ((AddOne,), warmup(
        "first", {"INPUT__0": 'data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "../../x"'}), ["first"]),
}


# Not a file where one is expected, or nothing at all.
ODD_FILES = {
    "file_is_a_folder": ["file_is_a_folder/1/model.pt"],
    "file_dangles": ["file_dangles/1/model.pt"],
    "file_absent": ["file_absent/1/model.pt"],
    "config_is_a_folder": ["config.pbtxt"],
    "config_absent": ["config.pbtxt"],
    "no_versions": ["version"],
}


def write_all(repository):
    for cases in (SYNTAX_ERRORS, FIELD_ERRORS, REFUSED_FEATURES, TENSOR_ERRORS):
        for name, (config, _) in cases.items():
            repository.write(name, config, GOOD_FILE)
    for name, (dims, reshape, _) in SHAPE_ERRORS.items():
        repository.write(name, _shape_config(dims, reshape), GOOD_FILE)
    for name, (outputs, _) in OUTPUT_ERRORS.items():
        repository.add(ADDONE.but(name=name, outputs=outputs))
    for name, file in FILES.items():
        repository.write(name, CONFIG, file)
    for name, (module, sample, _) in WARM_UPS.items():
        repository.add(ADDONE.but(name=name, module=module, extra=sample))
    _write_odd_files(repository)


def _write_odd_files(repository):
    (repository.write("file_is_a_folder", CONFIG) / "1" / "model.pt").mkdir(parents=True)
    (repository.write("file_dangles", CONFIG) / "1").mkdir()
    (repository.path / "file_dangles" / "1" / "model.pt").symlink_to("/nowhere/model.pt")
    (repository.write("file_absent", CONFIG) / "1").mkdir()
    (repository.write("config_is_a_folder", file=GOOD_FILE) / "config.pbtxt").mkdir()
    repository.write("config_absent", file=GOOD_FILE)
    repository.write("no_versions", CONFIG)
    # A link to itself is no folder that could be listed as a model, but must not end the scan either.
    (repository.path / "loops").symlink_to("loops")
