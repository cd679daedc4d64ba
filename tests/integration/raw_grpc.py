"""One HTTP/2 connection by hand, so that a test can send frames and headers that no gRPC client sends."""

import re
import socket
import struct
import time

from wire import TIMEOUT

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
ENHANCE_YOUR_CALM = 11

_WIDE_WINDOW = 1 << 30
_USUAL_WINDOW = 65535


def message(payload, length=None, flag=0):
    """gRPC's prefix and the payload; the length that it claims may be another one."""
    return struct.pack(">BI", flag, len(payload) if length is None else length) + payload


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _hpack_string(text):
    # As it is, without Huffman's code; a length of 127 and more goes on in groups of seven bits.
    text = text.encode()
    if len(text) < 127:
        return bytes([len(text)]) + text
    prefix, rest = [127], len(text) - 127
    while rest >= 128:
        prefix.append(rest % 128 + 128)
        rest //= 128
    return bytes([*prefix, rest]) + text


def header_block(headers):
    return b"".join(b"\0" + _hpack_string(name) + _hpack_string(value) for name, value in headers.items())


class Answer:
    """What came back on one stream: the header blocks as they were encoded, and the data."""

    def __init__(self):
        self.headers, self.data, self.ended, self.reset = b"", b"", False, None

    @property
    def status(self):
        """gRPC's status, or None. Readable in a connection's first answer; later ones may refer to it."""
        match = re.search(rb"\x0bgrpc-status[\x01\x02](\d+)", self.headers)
        return int(match[1]) if match else None

    @property
    def message(self):
        """The message of a successful call; it must be complete and not compressed."""
        assert self.status in (0, None), (self.status, self.headers)
        flag, length = struct.unpack(">BI", self.data[:5])
        assert (flag, length) == (0, len(self.data) - 5)
        return self.data[5:]


class RawGrpc:
    """As a context manager it closes the connection."""

    def __init__(self, server):
        self._socket = socket.create_connection(("127.0.0.1", server.grpc_port), timeout=TIMEOUT)
        self._received, self._answers = b"", {}
        self._stream_windows, self._window, self._initial_window = {}, _USUAL_WINDOW, _USUAL_WINDOW
        self.goaway, self.closed, self.pongs = None, False, 0
        # Large windows for what the server sends, so that no answer waits for this side.
        wide = frame(SETTINGS, payload=struct.pack(">HI", 4, _WIDE_WINDOW))
        self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + wide +
                  frame(WINDOW_UPDATE, payload=struct.pack(">I", _WIDE_WINDOW)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    # Sending

    def send(self, octets):
        try:
            self._socket.sendall(octets)
        except ConnectionError:
            # What the server said before it closed can still be read.
            self.closed = True

    def open(self, method="ModelInfer", flags=END_HEADERS, **headers):
        """Begins a call and returns its stream; `headers` replace or, when None, remove the usual ones."""
        stream = 2 * len(self._answers) + 1
        self._answers[stream] = Answer()
        self._stream_windows[stream] = self._initial_window
        usual = {
            ":method": "POST", ":scheme": "http", ":path": f"/inference.GRPCInferenceService/{method}",
            ":authority": "ferry", "te": "trailers", "content-type": "application/grpc",
        }
        usual.update({name.replace("_", "-"): value for name, value in headers.items()})
        block = header_block({name: value for name, value in usual.items() if value is not None})
        self.send(frame(HEADERS, flags, stream, block))
        return stream

    def data(self, stream, octets, end=True, piece=16384):
        """Sends DATA frames of `piece` octets, as the windows of the server allow."""
        begin = 0
        while begin < len(octets) and not self._over(stream):
            room = min(self._window, self._stream_windows[stream])
            if room <= 0:
                self._receive()
                continue
            # As many frames as go into one write.
            until = min(begin + room, begin + max(piece, 65536), len(octets))
            self.send(b"".join(frame(DATA, 0, stream, octets[at:min(at + piece, until)])
                               for at in range(begin, until, piece)))
            self._window -= until - begin
            self._stream_windows[stream] -= until - begin
            begin = until
        if end and not self._over(stream):
            self.send(frame(DATA, END_STREAM, stream))

    def call(self, octets, piece=16384, **headers):
        """A whole call: opens a stream, sends the octets and reads to its end."""
        stream = self.open(**headers)
        self.data(stream, octets, piece=piece)
        return self.answer(stream)

    # Receiving

    def answer(self, stream, timeout=TIMEOUT):
        deadline = time.monotonic() + timeout
        while not self._over(stream):
            self._receive(deadline)
        return self._answers[stream]

    def wait(self, condition, timeout=TIMEOUT):
        """Reads until the condition holds; returns whether it does."""
        deadline = time.monotonic() + timeout
        while not condition() and not self.closed and time.monotonic() < deadline:
            self._receive(deadline)
        return condition()

    def _over(self, stream):
        answer = self._answers[stream]
        return answer.ended or answer.reset is not None or self.closed

    def _receive(self, deadline=None):
        self._socket.settimeout(TIMEOUT if deadline is None else max(0.01, deadline - time.monotonic()))
        try:
            octets = self._socket.recv(1 << 16)
        except ConnectionError:
            octets = b""
        self.closed = self.closed or not octets
        self._received += octets
        while len(self._received) >= 9:
            length = int.from_bytes(self._received[:3], "big")
            if len(self._received) < 9 + length:
                return
            kind, flags, stream = struct.unpack(">BBI", self._received[3:9])
            payload, self._received = self._received[9:9 + length], self._received[9 + length:]
            self._take(kind, flags, stream, payload)

    def _take(self, kind, flags, stream, payload):
        answer = self._answers.get(stream)
        if kind == SETTINGS and not flags & ACK:
            self._take_settings(payload)
        elif kind == PING and flags & ACK:
            self.pongs += 1
        elif kind == PING:
            self.send(frame(PING, ACK, 0, payload))
        elif kind == GOAWAY:
            # The server first tells of its end with the greatest stream, then with a reason.
            self.goaway = struct.unpack(">I", payload[4:8])[0], payload[8:]
        elif kind == WINDOW_UPDATE:
            self._widen(stream, struct.unpack(">I", payload)[0])
        elif kind == RST_STREAM and answer:
            answer.reset = struct.unpack(">I", payload)[0]
        elif answer and kind in (HEADERS, CONTINUATION, DATA):
            if kind == DATA:
                answer.data += payload
            else:
                answer.headers += payload
            answer.ended = bool(flags & END_STREAM)

    def _take_settings(self, payload):
        for at in range(0, len(payload), 6):
            name, value = struct.unpack(">HI", payload[at:at + 6])
            if name == 4:
                for stream in self._stream_windows:
                    self._stream_windows[stream] += value - self._initial_window
                self._initial_window = value
        self.send(frame(SETTINGS, ACK))

    def _widen(self, stream, more):
        if stream == 0:
            self._window += more
        else:
            self._stream_windows[stream] += more
