"""Frames of a WebSocket (RFC 6455, section 5.2) as they pass by, for the proxy."""
import contextlib
import socket
import struct

TEXT = 1


def pass_on(source, target, heard, has_head):
    """Tells `heard` each text message of one socket, behind a head of HTTP if it has one, and then copies its bytes to the other, until it ends."""
    unread = b""
    while piece := _received(source):
        unread += piece
        if has_head and b"\r\n\r\n" in unread:
            unread, has_head = unread.split(b"\r\n\r\n", 1)[1], False
        while not has_head and (frame := _frame(unread)):
            opcode, payload, unread = frame
            if opcode == TEXT:
                heard(payload)
        try:
            target.sendall(piece)
        except OSError:  # it is gone
            break
    for end in (source, target):
        # A socket that is only closed stays open while another thread waits for it.
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


def _received(source):
    try:
        return source.recv(65536)
    except OSError:
        return b""


def _frame(data):
    """Returns the first frame's opcode, its payload and what follows it; None if it isn't whole. Messages are of one frame each here."""
    if len(data) < 2:
        return None
    opcode, masked, length = data[0] & 15, data[1] >> 7, data[1] & 127
    start = 2 + {126: 2, 127: 8}.get(length, 0)
    if len(data) < start + 4 * masked:
        return None
    if start > 2:
        length = struct.unpack(">H" if start == 4 else ">Q", data[2:start])[0]
    mask = data[start : start + 4] if masked else b"\0\0\0\0"
    start += 4 * masked
    if len(data) < start + length:
        return None
    payload = data[start : start + length]
    if masked:
        key = int.from_bytes((mask * (length // 4 + 1))[:length], "big")
        payload = (int.from_bytes(payload, "big") ^ key).to_bytes(length, "big")
    return opcode, payload, data[start + length :]
