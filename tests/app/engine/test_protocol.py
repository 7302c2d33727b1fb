from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.protocol import (
    Chunk,
    Failed,
    Generate,
    LineSplitter,
    Load,
    LoadOptions,
    ProtocolError,
    Request,
    SamplingOptions,
    decode_message,
    decode_request,
    encode_line,
    is_final,
)
from app.settings import by_scope
from tests.helpers.engine import chat


@given(st.lists(st.text(min_size=1), max_size=8), st.integers(1, 7))
def test_lines_survive_any_cut(texts: list[str], step: int) -> None:
    messages = [Chunk(id=i, conversation="c", answer=text) for i, text in enumerate(texts)]
    stream = b"".join(encode_line(message) for message in messages)
    splitter = LineSplitter()
    lines = [
        line
        for start in range(0, len(stream), step)
        for line in splitter.feed(stream[start : start + step])
    ]
    assert [decode_message(line) for line in lines] == messages


def test_line_past_the_limit_is_refused() -> None:
    splitter = LineSplitter(limit_bytes=10)
    assert splitter.feed(b"12345") == []
    with pytest.raises(ProtocolError):
        splitter.feed(b"678901")


@given(st.binary(max_size=200))
def test_garbage_raises_the_one_error(line: bytes) -> None:
    for decode in (decode_message, decode_request):
        try:
            decode(line)
        except ProtocolError:
            pass


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"null",
        b'{"type":"load"}',
        b'{"type":"load","id":"1","path":"x"}',
        b'{"type":"nothing","id":1}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_wrong_requests_are_refused(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_request(line)


def test_requests_come_back_as_they_were() -> None:
    requests: list[Request] = [
        Load(id=1, path="/tmp/日本 é.gguf", options=LoadOptions(n_ctx=512, type_k="q8_0")),
        Generate(
            id=2, conversation="c", chat=chat("a", "b\u2028\n", "😀"), sampling=SamplingOptions()
        ),
    ]
    for request in requests:
        line = encode_line(request)
        assert line.count(b"\n") == 1
        assert decode_request(line[:-1]) == request


def test_final_messages() -> None:
    assert is_final(Failed(id=1, kind="busy", message="x"))
    assert not is_final(Chunk(id=1, conversation="c"))


def test_options_are_the_declared_settings() -> None:
    """A setting without a field, or a field that nobody can set, is a fault."""
    program_only = {"unified", "outputs", "repack"}
    load = {setting.key for setting in by_scope("load")}
    assert load == set(LoadOptions.__struct_fields__) - program_only
    sampling = {setting.key for setting in by_scope("sampling")}
    assert sampling == set(SamplingOptions.__struct_fields__) - {"ignore_eos"}
    for setting in by_scope("load"):
        assert getattr(LoadOptions(), setting.key) == setting.default, setting.key
    for setting in by_scope("sampling"):
        assert getattr(SamplingOptions(), setting.key) == setting.default, setting.key
