"""Frames between the app and its child processes."""

import io
import struct

import pytest

from shared.core.frames import MAX_BYTES, Frame, FrameError, encode_frame, read_frame


def test_frames_come_out_as_they_went_in_one_after_the_other() -> None:
    frames = [Frame({"kind": "batch", "text": "ä\n"}, bytes(range(256))), Frame({}), Frame({"last": True})]
    stream = io.BytesIO(b"".join(map(encode_frame, frames)))
    assert [read_frame(stream) for _ in frames] == frames
    assert read_frame(stream) is None


@pytest.mark.parametrize("left", [1, 7, 8, 12, -1])
def test_a_stream_that_ends_inside_a_frame_is_an_error(left: int) -> None:
    with pytest.raises(FrameError, match="ended inside"):
        read_frame(io.BytesIO(encode_frame(Frame({"kind": "end"}, b"body"))[:left]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (struct.pack("<II", MAX_BYTES + 1, 0), "not ours"),
        (struct.pack("<II", 0, MAX_BYTES + 1), "not ours"),
        (struct.pack("<II", 4, 0) + b"{no}", "not JSON"),
        (struct.pack("<II", 2, 0) + b"[]", "not an object"),
    ],
)
def test_what_is_no_frame_is_an_error(content: bytes, message: str) -> None:
    with pytest.raises(FrameError, match=message):
        read_frame(io.BytesIO(content))
