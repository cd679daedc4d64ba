"""Faults of bad input, each by its number, as they can come in the bytes of a request.

Ferry takes no JSON: where an entry is about JSON, the same fault is made in protobuf's encoding.
"""

import json
import struct

import grpc
import numpy as np
import pytest
from tritonclient.grpc import service_pb2 as pb
from wire import arrays, assert_serves, counts, floats, of_rows, raw_infer, refused, squeezed

INVALID = grpc.StatusCode.INVALID_ARGUMENT
NOT_FOUND = grpc.StatusCode.NOT_FOUND

FOUR = floats(1, 2, 3, 4)


@pytest.fixture(autouse=True)
def serves_on_afterwards(server):
    """Also shows that the connection is still of use: all calls of the session share it."""
    yield
    assert_serves(server)


# Protobuf's encoding, by hand


def varint(value):
    encoded = bytearray()
    while value >= 128:
        encoded.append(value % 128 + 128)
        value //= 128
    return bytes([*encoded, value])


def tag(field, wire_type):
    return varint(field * 8 + wire_type)


def number(field, value):
    return tag(field, 0) + varint(value)


def fixed32(field, value):
    return tag(field, 5) + struct.pack("<I", value)


def fixed64(field, value):
    return tag(field, 1) + struct.pack("<Q", value)


def group(field, content=b""):
    return tag(field, 3) + content + tag(field, 4)


def octets(field, value, length=None):
    """Text, bytes or a message; the length that it claims may be another one."""
    value = value.encode() if isinstance(value, str) else value
    return tag(field, 2) + varint(len(value) if length is None else length) + value


def body(*, model=octets(1, "addone"), name=octets(1, "INPUT__0"), datatype=octets(2, "FP32"),
         shape=octets(3, bytes([1, 4])), contents=b"", inputs=None, raw=octets(7, FOUR), rest=b""):
    """A request to addone that is right but for what the test replaces."""
    given = octets(5, name + datatype + shape + contents) if inputs is None else inputs
    return model + given + raw + rest


def values(server, message):
    answer = pb.ModelInferResponse.FromString(raw_infer(server)(message, timeout=10))
    return next(iter(arrays(answer).values())).tolist()


def test_b032_encoder_by_hand_makes_a_right_request(server):
    assert body() == of_rows("addone", [[1, 2, 3, 4]]).SerializeToString()
    assert values(server, body()) == [[2, 3, 4, 5]]


WRONG_TYPES = {
    "JSON": json.dumps({"inputs": [{"name": "INPUT__0", "datatype": "FP32", "shape": [1, 4]}]}).encode(),
    "an empty list": b"[]",
    "null": b"null",
    "text": b'"x"',
    "byte order mark": b"\xef\xbb\xbf" + body(),
    "a zero behind": body(rest=b"\0"),
    "an open group": body(rest=tag(99, 3)),
    "the end of no group": body(rest=tag(99, 4)),
    "an unknown wire type": body(rest=tag(99, 6)),
    "inputs: a number": body(inputs=number(5, 1)),
    "inputs: none": body(inputs=b""),
    "inputs: an empty one": body(inputs=octets(5, b"")),
    "inputs: text": body(inputs=octets(5, "INPUT__0")),
    "inputs: a group": body(inputs=group(5)),
    "input name: a number": body(name=number(1, 5)),
    "datatype: a number": body(datatype=number(2, 7)),
    "datatype: missing": body(datatype=b""),
    "shape: text": body(shape=octets(3, "1,4")),
    "shape: floating-point numbers": body(shape=octets(3, struct.pack("<2d", 1.5, 4))),
    "shape: fixed width": body(shape=fixed64(3, 1) + fixed64(3, 4)),
    "shape: cut in a number": body(shape=octets(3, b"\x01\x84")),
    "shape: missing": body(shape=b""),
    "raw contents: a number": body(raw=number(7, 5)),
    "raw contents: text": body(raw=octets(7, "abc")),
    "raw contents: missing": body(raw=b""),
    "contents: a number": body(raw=b"", contents=number(5, 1)),
    "contents: text": body(raw=b"", contents=octets(5, "abc")),
    "contents: text for floats": body(raw=b"", contents=octets(5, octets(6, "abc"))),
    "contents: doubles for floats": body(raw=b"", contents=octets(5, 4 * fixed64(6, 1))),
    "contents: varints for floats": body(raw=b"", contents=octets(5, 4 * number(6, 1))),
    "parameters: text": body(rest=octets(4, "abc")),
    "parameters: a reserved one without a value": body(rest=octets(4, octets(1, "priority"))),
    "outputs: text": body(rest=octets(6, "OUTPUT__0")),
    "outputs: one without a name": body(rest=octets(6, b"")),
}


@pytest.mark.parametrize("fault", WRONG_TYPES)
def test_b032_wrong_types_are_refused(server, fault):
    """In JSON a value can be of any type; in protobuf a field can come in any encoding."""
    before = counts(server.stub, "addone")
    refused(raw_infer(server), WRONG_TYPES[fault], INVALID)
    assert (counts(server.stub, "addone") - before).executions == 0


@pytest.mark.parametrize("model", [b"", number(1, 5), fixed32(1, 5), group(1)],
                         ids=["missing", "a number", "fixed width", "a group"])
def test_b032_name_of_another_type_is_no_name(server, model):
    refused(raw_infer(server), body(model=model), NOT_FOUND)


def test_b032_a_request_cut_anywhere_is_refused(server):
    whole = body()
    before = counts(server.stub, "addone")
    for end in range(len(whole)):
        with pytest.raises(grpc.RpcError) as caught:
            raw_infer(server)(whole[:end], timeout=10)
        assert caught.value.code() in (INVALID, NOT_FOUND), end
    assert (counts(server.stub, "addone") - before).executions == 0


@pytest.mark.parametrize("message", [
    body(model=octets(1, "nosuch") + octets(1, "addone")),
    body(shape=number(3, 1) + number(3, 4)),
    body(shape=octets(3, b"\x01") + number(3, 4)),
    body(rest=number(99, 5) + octets(98, "abc") + group(97, number(1, 2)) + number(6, 1)),
], ids=["a name twice", "an unpacked shape", "a shape in parts", "unknown fields"])
def test_b032_what_protobuf_allows_is_served(server, message):
    """The last of two names counts, and what has no meaning is passed over: so says protobuf."""
    assert values(server, message) == [[2, 3, 4, 5]]


# Lengths

# What 32 bits, with or without a sign, and 64 bits make of these is short, negative or the true length.
LENGTHS = [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 16, 2**63, 2**64 - 1, 2**70 + 16]


@pytest.mark.parametrize("length", [0, 15, 17, *LENGTHS])
def test_b035_raw_contents_with_a_wrong_length_are_refused(server, length):
    """In HTTP the lengths stand in headers; in gRPC each field has its own."""
    refused(raw_infer(server), body(raw=octets(7, FOUR, length)), INVALID)


@pytest.mark.parametrize("length", [3, 5, *LENGTHS, 2**32 + 4])
@pytest.mark.parametrize("part, field, value", [("name", 1, "four"), ("datatype", 2, "FP32"),
                                                ("shape", 3, bytes([1, 1, 2, 2]))])
def test_b035_parts_of_an_input_with_a_wrong_length_are_refused(server, length, part, field, value):
    refused(raw_infer(server), body(**{part: octets(field, value, length)}), INVALID)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("field", [4, 5, 6], ids=["parameters", "inputs", "outputs"])
def test_b035_messages_with_a_wrong_length_are_refused(server, length, field):
    refused(raw_infer(server), body(rest=octets(field, octets(1, "a" * 14), length)), INVALID)


@pytest.mark.parametrize("length", LENGTHS)
def test_b035_contents_with_a_wrong_length_are_refused(server, length):
    floats_of_16_bytes = octets(6, FOUR, length)
    refused(raw_infer(server), body(raw=b"", contents=octets(5, floats_of_16_bytes)), INVALID)


# Counts and shapes


def var3(shape, contents=b"", raw=b""):
    """A request to the identity of two free extents."""
    return body(model=octets(1, "var3"), shape=octets(3, bytes(shape)), contents=contents, raw=raw)


def packed(*numbers):
    return octets(6, floats(*numbers))


def unpacked(*numbers):
    return b"".join(tag(6, 5) + floats(each) for each in numbers)


@pytest.mark.parametrize("contents", [
    octets(5, packed(1, 2, 3, 4)),
    octets(5, unpacked(1, 2, 3, 4)),
    octets(5, packed(1, 2) + packed(3, 4)),
    octets(5, packed(1) + unpacked(2, 3) + packed() + packed(4)),
    octets(5, packed(1, 2)) + octets(5, packed(3, 4)),
], ids=["packed", "unpacked", "two lists", "a mixture", "contents twice"])
def test_b038_elements_in_any_form_are_the_same(server, contents):
    """JSON may nest its lists; protobuf may cut them into parts."""
    assert values(server, var3([1, 2, 2], contents)) == [[[1, 2], [3, 4]]]


@pytest.mark.parametrize("shape, given", [([1, 2, 2], 0), ([1, 2, 2], 1), ([1, 2, 2], 3), ([1, 2, 2], 5),
                                          ([1, 1, 1], 4), ([2, 2, 2], 4), ([1, 4, 0], 4)])
@pytest.mark.parametrize("form", ["packed", "unpacked", "raw"])
def test_b038_element_count_and_shape_that_disagree_are_refused(server, shape, given, form):
    numbers = range(given)
    if form == "raw":
        message = var3(shape, raw=octets(7, floats(*numbers)))
    else:
        message = var3(shape, octets(5, packed(*numbers) if form == "packed" else unpacked(*numbers)))
    details = squeezed(refused(raw_infer(server), message, INVALID))
    assert "INPUT__0" in details
    # Both sizes, in bytes.
    assert [each for each in (4 * int(np.prod(shape)), 4 * given) if str(each) not in details] == []
