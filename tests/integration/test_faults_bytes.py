"""Faults of BYTES, each by its number.

torch has no tensors of text, so no model takes or gives any. Text is still in names, ids, labels and
messages; what an entry asks of a string tensor is asked of these.
"""

import re
import struct
import urllib.request

import grpc
import pytest
from metrics_text import url
from models import ADDONE
from models import tensor as configured
from wire import (assert_serves, index, infer, of_rows, one_input, output, raw_infer, refused, request,
                  tensor)

INVALID = grpc.StatusCode.INVALID_ARGUMENT

ROW = [[1, 2, 3, 4]]


@pytest.fixture(autouse=True)
def serves_on_afterwards(server):
    yield
    assert_serves(server)


# Elements with a length before each


def test_b049_model_of_text_is_not_loaded_and_the_reason_says_why(start, repository):
    repository.add(ADDONE, ADDONE.but(name="takes_text", inputs=[configured("INPUT__0", "STRING", 4)]),
                   ADDONE.but(name="gives_text", outputs=[configured("OUTPUT__0", "STRING", 4)]))
    entries = index(start(repository, flags=["--strict-readiness=false"]).stub)
    for model, name in (("takes_text", "INPUT__0"), ("gives_text", "OUTPUT__0")):
        (entry,) = entries[model]
        assert entry.state == "UNAVAILABLE" and name in entry.reason and "TYPE_STRING" in entry.reason


def framed(*elements, order="<"):
    return b"".join(struct.pack(f"{order}I", len(each)) + each for each in elements)


FRAMINGS = {
    "right": framed(b"one", b"three"),
    "no lengths": b"onethree",
    "big-endian": framed(b"one", b"three", order=">"),
    "one element": framed(b"one"),
    "three elements": framed(b"one", b"two", b"three"),
    "a byte short": framed(b"one", b"three")[:-1],
    "a byte more": framed(b"one", b"three") + b"x",
    "three bytes more": framed(b"one", b"three") + b"xyz",
    "nothing": b"",
    "endless": b"\xff\xff\xff\xff",
    # As long as the floats would be.
    "sixteen bytes": framed(b"four", b"four"),
}


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("shape", [[2], [1, 4]], ids=str)
def test_b049_text_for_numbers_is_refused_however_it_is_framed(stub, shape, framing):
    message = one_input("addone", shape, FRAMINGS[framing], datatype="BYTES")
    details = refused(stub.ModelInfer, message, INVALID)
    assert [word for word in ("INPUT__0", "BYTES", "FP32") if word not in details] == []


@pytest.mark.parametrize("elements", [[b"one", b"three"], [b""], [b""] * 4, [b"x" * 100_000] * 4],
                         ids=["two", "an empty one", "four empty ones", "long ones"])
@pytest.mark.parametrize("datatype", ["BYTES", "FP32"])
def test_b049_typed_text_for_numbers_is_refused(stub, datatype, elements):
    message = request("addone", [tensor("INPUT__0", datatype, [1, 4], bytes_contents=elements)])
    assert "INPUT__0" in refused(stub.ModelInfer, message, INVALID)


# Unusual text

TEXTS = {
    "empty": "",
    "zero": "he\0llo",
    "quotes": "a \"quoted\" 'word' \\ and a backslash\\",
    "control": "".join(map(chr, range(1, 32))) + "\x7f",
    "four bytes": "🚢⛴️ 𝔽erry",
    "right to left": "\u202eferry",
    "percent": "100 %s %n %00",
    "long": "é" * 50_000,
}


@pytest.mark.parametrize("kind", TEXTS)
def test_b050_request_id_comes_back_exactly(stub, kind):
    answer = stub.ModelInfer(of_rows("addone", ROW, id=TEXTS[kind]), timeout=10)
    assert answer.id == TEXTS[kind]


@pytest.mark.parametrize("kind", TEXTS)
def test_b050_text_in_parameters_is_harmless(stub, kind):
    parameters = {"custom": TEXTS[kind], f"key {TEXTS[kind]}": "value"}
    assert infer(stub, of_rows("addone", ROW, parameters=parameters)).tolist() == [[2, 3, 4, 5]]


@pytest.mark.parametrize("text", [b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", b"\xf0\x9f\x9a"],
                         ids=["noise", "half a pair", "a long zero", "cut"])
@pytest.mark.parametrize("field", [1, 2, 3], ids=["name", "version", "id"])
def test_b050_text_that_is_not_utf8_is_refused(server, field, text):
    message = of_rows("addone", ROW).SerializeToString()
    # The last of two counts, but both must be text.
    refused(raw_infer(server), message + bytes([field * 8 + 2, len(text)]) + text, INVALID)


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("place", ["model", "input", "output", "datatype"])
def test_b050_refusal_that_quotes_it_stays_readable_and_short(server, stub, place, kind):
    text = TEXTS[kind]
    message = {
        "model": of_rows(text, ROW),
        "input": of_rows("addone", ROW, name=text),
        "output": of_rows("addone", ROW, outputs=[output(text)]),
        "datatype": one_input("addone", [1, 4], bytes(16), datatype=text),
    }[place]
    lines = len(server.log())
    details = refused(stub.ModelInfer, message, grpc.StatusCode.NOT_FOUND if place == "model" else INVALID)
    # Control characters would let a client forge lines in the logs of others.
    assert len(details) < 4096 and re.search(r"[\x00-\x1f\x7f]", details) is None
    assert len(server.log()) == lines


# A line of the label file each: it ends at a line feed, and at nothing else.
LABELS = [TEXTS["zero"], TEXTS["quotes"], TEXTS["four bytes"], TEXTS["long"]]


def elements(raw):
    found = []
    while raw:
        (size,) = struct.unpack_from("<I", raw)
        assert 4 + size <= len(raw)
        found.append(raw[4:4 + size])
        raw = raw[4 + size:]
    return found


def test_b050_labels_come_back_exactly(start, repository):
    """The classes of the classification extension are the one BYTES tensor that is answered."""
    labelled = ADDONE.but(outputs=[("OUTPUT__0", "FP32", [4], 'label_filename: "labels.txt"')])
    folder = repository.write("addone", labelled.config(), labelled.file())
    (folder / "labels.txt").write_bytes("\n".join(LABELS).encode())
    stub = start(repository).stub
    asked = [output("OUTPUT__0", classification=4)]
    answer = stub.ModelInfer(of_rows("addone", [[4, 3, 2, 1]], outputs=asked), timeout=10)
    assert elements(answer.raw_output_contents[0]) == [
        f"{5 - i}.000000:{i}:{label}".encode() for i, label in enumerate(LABELS)]


def test_b050_text_in_metric_labels_is_escaped(start, repository):
    """Prometheus' page is what unusual text could break here, as it broke JSON."""
    tag = 'say \\"ahoy\\" \\\\ and\\nanswer ⛴'
    server = start(repository.add(ADDONE.but(extra=f'metric_tags {{ key: "greeting" value: "{tag}" }}')))
    with urllib.request.urlopen(url(server), timeout=10) as answer:
        lines = answer.read().decode().split("\n")
    # The text format escapes quotes, backslashes and line feeds, just as the configuration does.
    assert any(f'greeting="{tag}"' in line for line in lines)
    assert [line for line in lines if line and not re.match(r'^#|^[a-z_]+(\{.*\})? \S+$', line)] == []
