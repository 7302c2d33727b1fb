"""What the panel plans while a model loads."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from app.data.state import StateFile
from app.engine.protocol import LoadOptions
from app.engine.qt_client import EngineProcess
from app.ui.presenters.inspector_plan import InspectorPlan
from gguf_tools.facts import read_facts
from gguf_tools.machine import cpu_only
from gguf_tools.plan import make_plan
from gguf_tools.settings import LoadSettings
from inspector.session import Session
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


def test_another_model_is_not_shown_with_the_figures_of_the_one_before(
    qtbot: QtBot, tmp_path: Path
) -> None:
    first = write_tiny_model(tmp_path / "first.gguf", TinyModel())
    second = write_tiny_model(tmp_path / "second.gguf", TinyModel(embedding=128))
    session = Session()
    plan = InspectorPlan(EngineProcess(), session, StateFile(None))
    session.planned(make_plan(read_facts(first), LoadSettings(context=1024), cpu_only(1 << 34)))
    before = session.plan
    session.loading(None)
    plan.begin(str(second), LoadOptions())
    assert before is not None
    assert session.plan is None
    assert session.state == "loading"
    qtbot.waitUntil(lambda: plan.live.facts is not None)
    assert plan.live.facts is not None
    assert plan.live.facts.path == second
