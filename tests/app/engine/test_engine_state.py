"""What the window shows of its engine after each message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.engine.engine_state import EngineState, EngineStatus, followed
from app.engine.protocol import (
    ChatPrompt,
    Chunk,
    Failed,
    Generate,
    Load,
    LoadOptions,
    Progress,
    Request,
    Tune,
)

LOAD = Load(id=1, path="m.gguf")
TUNE = Tune(id=1, options=LoadOptions())
REPLY = Generate(id=1, conversation="c", chat=ChatPrompt(messages=()))
REFUSED = Failed(id=1, kind="out_of_memory", message="No room.", advice=("Less",), detail="log")
CANCELLED = Failed(id=1, kind="cancelled", message="Cancelled.")


def test_progress_of_a_load_alone_moves_its_fraction() -> None:
    state = EngineState(status="loading")
    load = Progress(id=1, phase="load", fraction=0.5, done_tokens=0, total_tokens=0)
    assert followed(state, load, LOAD) == replace(state, fraction=0.5)
    prompt = Progress(id=1, phase="prefill", fraction=0.5, done_tokens=1, total_tokens=2)
    assert followed(state, prompt, REPLY) == state


def test_a_load_that_failed_says_why_and_one_that_was_cancelled_nothing() -> None:
    state = EngineState(status="loading", path="m.gguf", fraction=0.7)
    refused = followed(state, REFUSED, LOAD)
    assert (refused.status, refused.path, refused.sentence) == ("idle", None, "No room.")
    assert (refused.fraction, refused.advice, refused.detail) == (0.0, ("Less",), "log")
    assert followed(state, CANCELLED, LOAD).sentence == ""


@pytest.mark.parametrize("status", ["measuring", "prefill", "decode"])
def test_a_measurement_that_ends_disturbs_no_reply_it_gave_way_to(status: EngineStatus) -> None:
    state = EngineState(status=status)
    after = followed(state, CANCELLED, TUNE).status
    assert after == ("idle" if status == "measuring" else status)


@pytest.mark.parametrize(("request_", "status"), [(REPLY, "idle"), (None, "decode")])
def test_a_failure_ends_what_was_asked_and_nothing_else(
    request_: Request | None, status: EngineStatus
) -> None:
    chunk = Chunk(id=1, conversation="c", answer="a", reply_tokens=1)
    state = followed(EngineState(status="prefill"), chunk, REPLY)
    assert state.status == "decode"
    assert followed(state, REFUSED, request_).status == status
