"""Bad input through the pipe: lines that mean harm in both directions, and spoiled models.

More rounds and other seeds: ``python -m tests.bench.hostile``.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.engine.client import EngineClient, EngineError, RequestFailed
from app.engine.protocol import (
    Failed,
    Hello,
    Load,
    LoadOptions,
    ProtocolError,
    QueryMemory,
    encode_line,
)
from app.engine.qt_client import EngineProcess
from tests.app.engine.conftest import FakeScript
from tests.helpers.hostile_gguf import attack_models
from tests.helpers.hostile_lines import (
    attack_blocking_client,
    attack_qt_client,
    attack_worker,
    scripted_worker,
)
from tests.helpers.hostile_templates import attack_templates
from tests.helpers.patience import PATIENCE_S
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the mad worker needs select")
_HELLO = msgspec.json.encode(
    Hello(protocol=1, pid=1, engine="e", devices=(), system_info="", cpu="c")
)


def test_hostile_requests_leave_the_worker_able_to_answer(fake_script: FakeScript) -> None:
    fake_script()
    assert attack_worker(25, random.Random(1)) == []


def test_a_mad_worker_is_an_error_of_one_sentence(tmp_path: Path) -> None:
    assert attack_blocking_client(5, random.Random(1), tmp_path) == []


def test_a_mad_worker_is_a_loss_of_one_sentence(tmp_path: Path, qtbot: Any) -> None:
    def until(done: Any) -> bool:
        try:
            qtbot.waitUntil(done)
        except AssertionError:  # pytest-qt's own has no name of its own
            return False
        return True

    assert attack_qt_client(6, random.Random(1), tmp_path, until) == []


def test_spoiled_models_end_in_a_sentence(tmp_path: Path) -> None:
    ends = Counter[str]()
    assert attack_models(25, random.Random(1), tmp_path, ends) == []
    assert ends["refused"]
    assert ends["done"]  # what was spoiled did not matter to the engine


def test_hostile_templates_end_in_a_text_or_a_sentence() -> None:
    ends = Counter[str]()
    assert attack_templates(60, random.Random(1), ends) == []
    assert {"rendered", "syntax", "refused"} <= set(ends)


def test_a_garbled_answer_ends_the_load_that_waits_for_it(tmp_path: Path, qtbot: Any) -> None:
    with scripted_worker(tmp_path, [[_HELLO + b"\n"], [b'{"type":"loa\n'] * 500]):
        engine = EngineProcess()
        notices: list[str] = []
        failed: list[Any] = []
        engine.notice.connect(notices.append)
        engine.message.connect(failed.append)
        engine.start()
        request_id = engine.load("/m.gguf", LoadOptions())
        qtbot.waitUntil(lambda: engine.state.status == "lost")
        assert [(item.id, type(item)) for item in failed] == [(request_id, Failed)]
        assert failed[0].message == engine.state.sentence
        assert "sent something unreadable while loading the model" in engine.state.sentence
        assert notices == []  # not one a line
        with qtbot.waitSignal(engine.closed):
            engine.close()
        engine.deleteLater()


def test_a_worker_of_another_version_ends_the_load_that_waits(tmp_path: Path, qtbot: Any) -> None:
    other = _HELLO.replace(b'"protocol":1', b'"protocol":99')
    with scripted_worker(tmp_path, [[other + b"\n"], []]):
        engine = EngineProcess()
        failed: list[Any] = []
        engine.message.connect(failed.append)
        engine.start()
        request_id = engine.load("/m.gguf", LoadOptions())
        qtbot.waitUntil(lambda: bool(failed))
        assert failed[0].id == request_id
        assert "another version" in failed[0].message
        assert engine.state.sentence == failed[0].message
        with qtbot.waitSignal(engine.closed):
            engine.close()
        engine.deleteLater()


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Load(id=1, path=os.fsdecode(b"/m/caf\xe9.gguf")), "rename the file"),
        (Load(id=1, path="x" * (33 << 20)), r"longer \(33 MiB\) than a message can be \(32 MiB\)"),
    ],
)
def test_what_cannot_be_sent_is_said(request_: Load, words: str, fake_script: FakeScript) -> None:
    with pytest.raises(ProtocolError, match=words):
        encode_line(request_)
    fake_script()
    with EngineClient() as client, pytest.raises(EngineError, match=words):
        client.send(request_)


def test_a_file_whose_name_is_no_text_is_told_from_the_command_line(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.gguf"
    write_tiny_model(tmp_path / "tiny.gguf", TinyModel(layers=1)).rename(os.fsdecode(name))
    done = subprocess.run(
        [os.fsencode(sys.executable), b"-m", b"app", b"chat", name, b"-p", b"hi"],
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 4
    assert b"rename the file" in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_request_that_is_none_is_answered_to_who_asked(
    fake_script: FakeScript, tmp_path: Path
) -> None:
    fake_script()
    wrong: Any = "many"
    with EngineClient() as client, pytest.raises(RequestFailed, match="not a request") as caught:
        client.load(str(tmp_path / "m.gguf"), LoadOptions(n_ctx=wrong))
    assert caught.value.failed.kind == "bad_request"


@pytest.mark.parametrize(
    "options",
    [
        LoadOptions(n_batch=0),
        LoadOptions(n_batch=-1),
        LoadOptions(n_ctx=2**40),
        LoadOptions(sequences=0),
        LoadOptions(threads=-1),
    ],
)
def test_sizes_that_stop_the_engine_are_refused(options: LoadOptions, tmp_path: Path) -> None:
    model = write_tiny_model(tmp_path / "tiny.gguf", TinyModel(layers=1))
    with EngineClient() as client:
        with pytest.raises(RequestFailed, match="is a number between") as caught:
            client.load(str(model), options)
        assert caught.value.failed.kind == "bad_request"
        client.load(str(model), LoadOptions(n_ctx=256))  # the worker is still there


def test_a_request_that_nobody_foresaw_fails_alone(fake_script: FakeScript, tmp_path: Path) -> None:
    fake_script()
    with EngineClient() as client:
        client.load(str(tmp_path / "m.gguf"))
        fake_script(replies=[])
        client.close()
        client.start()
        client.load(str(tmp_path / "m.gguf"))  # whose replies are none: an error of the script
        from tests.helpers.engine import chat, generate

        request = generate(client, chat("hello"))  # type: ignore[arg-type]
        client.send(request)
        *_, last = client.messages(request.id)
        assert isinstance(last, Failed)
        assert last.kind == "engine"
        assert last.message.startswith("The engine can't do this: ")
        memory = QueryMemory(id=client.new_id())
        client.send(memory)
        assert next(iter(client.messages(memory.id))).id == memory.id  # type: ignore[union-attr]
