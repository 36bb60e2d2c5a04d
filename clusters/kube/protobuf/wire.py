"""The protobuf wire format: varints, lengths, tags; and the complaints of Go's generated readers."""

from __future__ import annotations

VARINT, FIXED64, BYTES, END_GROUP, FIXED32 = 0, 1, 2, 4, 5
_START_GROUP = 3
_U64 = (1 << 64) - 1


class ProtobufError(ValueError):
    """The bytes are no message of the expected type; the text is Go's (`unexpected EOF`)."""


def varint(value: int) -> bytes:
    """`value` in groups of seven bits, lowest first. A negative one is written as 64 bits."""
    if 0 <= value < _SMALL_END:
        return _SMALL[value]
    return _varint(value)


def _varint(value: int) -> bytes:
    value &= _U64
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


_SMALL_END = 2048  # Most strings, messages and numbers; a longer table would be felt at import.
_SMALL = tuple(
    bytes((value,)) if value < 0x80 else bytes((value & 0x7F | 0x80, value >> 7)) for value in range(_SMALL_END)
)


def tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def delimited(number: int, data: bytes) -> bytes:
    """A string, byte string or message as a field."""
    return b"".join((tag(number, BYTES), varint(len(data)), data))


def read_varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """(the unsigned value, the position behind it)."""
    value = shift = 0
    while True:
        if shift >= 64:
            raise ProtobufError("proto: integer overflow")
        if position >= end:
            raise ProtobufError("unexpected EOF")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _U64, position
        shift += 7


def read_length(data: bytes, position: int, end: int) -> tuple[int, int]:
    """(the first position of a delimited value, the position behind it)."""
    length, position = read_varint(data, position, end)
    if length >> 63:
        raise ProtobufError("proto: negative length found during unmarshaling")
    if position + length > end:
        raise ProtobufError("unexpected EOF")
    return position, position + length


def signed(value: int, bits: int) -> int:
    """Go's conversion of an unsigned varint to int32 or int64: the low bits, the highest is the sign."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def check_tag(number: int, wire_type: int, message: str) -> None:
    """Refuses what can be no field of any message."""
    if wire_type == END_GROUP:
        raise ProtobufError(f"proto: {message}: wiretype end group for non-group")
    if number <= 0:
        raise ProtobufError(f"proto: {message}: illegal tag {number} (wire type {number << 3 | wire_type})")


def skip(data: bytes, position: int, end: int, wire_type: int) -> int:
    """The position behind a field that the message does not know."""
    depth = 0
    while True:
        if wire_type == VARINT:
            _, position = read_varint(data, position, end)
        elif wire_type == FIXED64:
            position += 8
        elif wire_type == BYTES:
            _, position = read_length(data, position, end)
        elif wire_type == FIXED32:
            position += 4
        elif wire_type == _START_GROUP:
            depth += 1
        elif wire_type == END_GROUP:
            if depth == 0:
                raise ProtobufError("proto: unexpected end of group")
            depth -= 1
        else:
            raise ProtobufError(f"proto: illegal wireType {wire_type}")
        if position > end:
            raise ProtobufError("unexpected EOF")
        if depth == 0:
            return position
        following, position = read_varint(data, position, end)
        wire_type = following & 7
