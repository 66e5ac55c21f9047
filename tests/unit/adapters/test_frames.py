"""Messages out of chunks of bytes, as a candidate may send them."""

import pytest

from app.adapters.sandbox.runner.frames import FrameBuffer, FrameError, pack, unpack


def test_messages_before_a_broken_one_in_the_same_chunk_count():
    """Were they lost, a program that writes garbage after it was compiled would look like one that was not."""
    payloads = FrameBuffer(1000).feed(pack("C") + pack("R") + b"PASS")
    assert [unpack(next(payloads))[0], unpack(next(payloads))[0]] == ["C", "R"]
    with pytest.raises(FrameError, match="a message of 1346458451 bytes"):
        next(payloads)


def test_a_message_may_come_in_pieces():
    buffer = FrameBuffer(1000)
    whole = pack("V", "0", "i7;")
    assert [list(buffer.feed(whole[at : at + 1])) for at in range(len(whole) - 1)] == [[]] * (len(whole) - 1)
    assert [unpack(payload) for payload in buffer.feed(whole[-1:] + whole)] == [("V", ["0", "i7;"])] * 2
