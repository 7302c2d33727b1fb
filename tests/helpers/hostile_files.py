"""Hostile files of our own and of others, each read as the program reads it."""

from __future__ import annotations

import json
import random
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final

from app.data.comparisons import Comparisons
from app.data.conversations import ConversationStore
from app.data.hub.access import keep_token, kept_token, token_path
from app.data.load_records import LoadRecords
from app.data.state import StateFile
from app.data.transfer import own
from app.data.transfer.common import TransferError
from app.data.transfer.reading import read_file
from app.data.tunings import KeptTuning, Tunings
from app.settings import Settings
from tests.helpers.hostile_documents import attack_attachment, attack_library, attack_report
from tests.helpers.hostile_values import nasty_bytes, put_in_place_of
from tests.helpers.patience import PATIENCE_S
from tests.helpers.store_damage import damage
from tests.helpers.store_files import make_chat
from tests.inspector.compare.samples import comparison

__all__ = ["FILES", "attack_files"]


@contextmanager
def _in_time() -> Iterator[None]:
    """Raise TimeoutError in what takes too long, also in a system call."""

    def late(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {PATIENCE_S:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(int(PATIENCE_S))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _write(path: Path, chance: random.Random, like: Any) -> str:
    """Put something hostile at a path; return what, in words."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if chance.random() < 0.25:
        return put_in_place_of(path, chance)
    content = nasty_bytes(chance, like)
    path.write_bytes(content)
    return repr(content[:300])


def _settings(folder: Path, chance: random.Random) -> str:
    path = folder / "settings.json"
    said = _write(
        path,
        chance,
        {
            "version": 1,
            "app": {"theme": "dark", "text_size": 120, "rpc": ["a:1"], "model_folders": ["/m"]},
            "models": {"/m.gguf": {"n_ctx": 4096, "type_k": "q8_0", "tensor_split": "3,1"}},
            "presets": {"A": {"temperature": 0.5, "stop": ["x"], "system_prompt": "p"}},
        },
    )
    settings = Settings(path)
    assert all(len(problem) < 1000 for problem in settings.problems), "a problem fills the window"
    settings.load_values("/m.gguf")
    _ = settings.presets
    for key in ("theme", "text_size", "rpc", "model_folders", "load_last_model"):
        settings.get(key)
    try:
        settings.set("theme", "light")
    except OSError:
        return said  # said in the window; the value holds for this run
    assert Settings(path).get("theme") == "light", "a setting was not kept"
    return said


def _state(folder: Path, chance: random.Random) -> str:
    path = folder / "state.json"
    like = {
        "blobs": {"window": "AAAA"},
        "last_model": "/m.gguf",
        "compatibility": {"cpu | e": True},
        "loading": {"path": "/m.gguf", "options": {"n_ctx": 1}},
        "bad_loads": {"/n.gguf": {"options": {}, "unfinished": True}},
    }
    said = _write(path, chance, like)
    state = StateFile(path)
    state.settle_unfinished_load()
    state.blob("window")
    _ = state.last_model
    state.bad_load(Path("/n.gguf"), {})
    state.compatibility("cpu", "e")
    tunings = Tunings(state, cpu="c", engine="e")
    state.set_blob("tuning c | e", nasty_bytes(chance, {"k": {"outcome": "kept", "threads": 2}}))
    tunings.get("k")
    tunings.keep("other", KeptTuning(outcome="undone"))
    assert tunings.get("other") is not None, "a tuning was not kept"
    state.set_last_model(Path("/other.gguf"))
    assert state.last_model == Path("/other.gguf")
    return said


def _token(folder: Path, chance: random.Random) -> str:
    path = token_path(folder)
    if chance.random() < 0.5:
        said = _write(path, chance, None)
    else:
        path.write_bytes(b"hf_abc\r\nHost: elsewhere" + chance.randbytes(chance.randrange(3)))
        said = "a token with a line's end"
    token = kept_token(folder)
    assert token is None or (token.isprintable() and " " not in token), f"token {token!r}"
    try:
        keep_token(folder, "hf_good")
    except OSError:
        return said
    assert kept_token(folder) == "hf_good"
    return said


def _comparison(folder: Path, chance: random.Random) -> str:
    kept = Comparisons(folder / "comparisons")
    record = comparison()
    kept.keep(record)
    path = folder / "comparisons" / f"{record.id}.json"
    like = json.loads(path.read_bytes())
    path.unlink()
    said = _write(path, chance, like)
    for entry in kept.entries():
        found = kept.load(entry.id)
        assert found is None or found.title is not None
    kept.load(record.id)
    return said


def _load_record(folder: Path, chance: random.Random) -> str:
    name = "0123456789abcdef" * 2
    said = ""
    for length in (16, 32):
        said = _write(folder / "loads" / f"{name[:length]}.json", chance, {"engine": "x"})
        LoadRecords(folder / "loads").get(name[:length])
    return said


def _store(folder: Path, chance: random.Random) -> str:
    path = folder / "chats.sqlite3"
    way = chance.random()
    if way < 0.3:
        said = put_in_place_of(path, chance)
    elif way < 0.5:
        path.write_bytes(nasty_bytes(chance))
        said = "other bytes"
    else:
        store = ConversationStore(path)
        make_chat(store, "long " * 3000)
        store.close()
        said = damage(path, chance)
    if chance.random() < 0.2:
        said += (
            ", lock: " + put_in_place_of(Path(f"{path}.lock"), chance)
            if not Path(f"{path}.lock").exists()
            else ""
        )
    store = ConversationStore(path)
    try:
        for chat in store.list_all():
            store.path(chat.id)
        store.search("long")
        made = make_chat(store)
        assert len(store.path(made.id)) == 3
        assert store.notice is None or 20 < len(store.notice.sentence) < 1000
    finally:
        store.close()
    return said


def _import(folder: Path, chance: random.Random) -> str:
    with tempfile.TemporaryDirectory() as other:
        store = ConversationStore(Path(other) / "chats.sqlite3")
        made = make_chat(store)
        text = own.render([store.whole(made.id)], datetime(2026, 1, 1, tzinfo=UTC))
        store.close()
    like = chance.choice([json.loads(text), _CHATGPT, _LM_STUDIO])
    path = folder / "1700000000000.conversation.json"
    said = _write(path, chance, like)
    try:
        imported = read_file(path)
    except TransferError as refusal:
        words = str(refusal)
        if not 10 < len(words) < 600:
            raise AssertionError(f"said: {words[:700]}") from refusal
        return said
    store = ConversationStore(folder / "chats.sqlite3")
    try:
        store.add_whole(imported.conversations)
        for chat in store.list_all():
            own.render([store.whole(chat.id)], datetime(2026, 1, 1, tzinfo=UTC))
            store.path(chat.id)
    finally:
        store.close()
    return said


_CHATGPT: Final[Any] = [
    {
        "title": "T",
        "create_time": 1.7e9,
        "update_time": 1.7e9,
        "current_node": "b",
        "mapping": {
            "r": {"id": "r", "message": None, "parent": None, "children": ["a"]},
            "a": {
                "id": "a", "parent": "r", "children": ["b"],
                "message": {"id": "a", "author": {"role": "user"}, "create_time": 1.7e9,
                            "content": {"content_type": "text", "parts": ["hello"]}},
            },
            "b": {
                "id": "b", "parent": "a", "children": [],
                "message": {"id": "b", "author": {"role": "assistant"}, "create_time": 1.7e9,
                            "content": {"content_type": "text", "parts": ["hi"]}},
            },
        },
    }
]  # fmt: skip
_LM_STUDIO: Final[Any] = {
    "name": "T",
    "createdAt": 1_700_000_000_000,
    "systemPrompt": "s",
    "messages": [
        {
            "currentlySelected": 0,
            "versions": [
                {"type": "singleStep", "role": "user", "content": [{"type": "text", "text": "q"}]}
            ],
        },
        {
            "currentlySelected": 0,
            "versions": [
                {
                    "type": "multiStep",
                    "role": "assistant",
                    "steps": [{"type": "contentBlock", "content": [{"type": "text", "text": "a"}]}],
                }
            ],
        },
    ],
}

FILES: Final[dict[str, Callable[[Path, random.Random], str]]] = {
    "settings": _settings,
    "state": _state,
    "token": _token,
    "comparisons": _comparison,
    "load records": _load_record,
    "store": _store,
    "imports": _import,
    "attachments": attack_attachment,
    "reports": attack_report,
    "folders of models": attack_library,
}


def attack_files(kind: str, rounds: int, chance: random.Random) -> list[str]:
    """Put hostile files in place; return what went wrong, a sentence each."""
    problems = []
    for number in range(rounds):
        folder = Path(tempfile.mkdtemp(prefix="plimsoll-hostile-"))
        seed = chance.random()
        try:
            with _in_time():
                FILES[kind](folder, random.Random(seed))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)
            lines = "; ".join(f"{Path(item.filename).name}:{item.lineno}" for item in where[-4:])
            said = f"{type(error).__name__}: {str(error)[:300]} ({lines})"
            problems.append(f"{kind} {number}, seed {seed}: {said}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return problems
