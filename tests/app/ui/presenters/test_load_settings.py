"""What the dialog of load settings says of settings that are left open, and of a draft model."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.data.state import StateFile
from app.engine.protocol import Hello
from app.engine.threads import clamp_threads, cpu_name
from app.ui.presenters.load_settings import Automatic, automatic_of
from gguf_tools.facts import ModelFacts, read_facts
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


@pytest.fixture
def facts(tmp_path: Path) -> ModelFacts:
    return read_facts(write_tiny_model(tmp_path / "large.gguf", TinyModel(layers=3)))


def automatic(facts: ModelFacts, **values: object) -> Automatic:
    hello = Hello(protocol=1, pid=1, engine="test", devices=(), system_info="", cpu=cpu_name())
    return automatic_of(
        facts, values, state=StateFile(None), hello=hello, tune=True, freed_bytes={}
    )


def test_what_is_left_open_is_said(facts: ModelFacts) -> None:
    found = automatic(facts)
    assert found.n_ctx == facts.context_length
    assert found.threads == clamp_threads(None)
    assert found.fits == facts.context_length
    assert (found.draft_problem, found.draft_bytes) == ("", 0)


def test_a_draft_model_is_weighed_before_loading(facts: ModelFacts, tmp_path: Path) -> None:
    small = write_tiny_model(tmp_path / "small.gguf", TinyModel(layers=1))
    found = automatic(facts, draft=str(small))
    assert found.draft_problem == ""
    assert found.draft_bytes > read_facts(small).weights_bytes


def test_why_a_draft_model_would_not_be_used_is_said(facts: ModelFacts, tmp_path: Path) -> None:
    assert (
        automatic(facts, draft=str(tmp_path / "no.gguf")).draft_problem == "There is no such file."
    )
    page = tmp_path / "page.gguf"
    page.write_bytes(b"<html></html>")
    assert automatic(facts, draft=str(page)).draft_problem == "This file is no model."
