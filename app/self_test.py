"""``plimsoll self-test``: does this copy of the program work on this computer?

Each check does for real what its part of the program is for, in a data folder of its own that is
removed afterwards, and gives one line. An installer is only published when all of them pass.
The window is tested in a process of its own: Qt ends its process when it can't start.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.cli.terminal import json_line, say
from app.paths import DATA_DIR_VARIABLE, starter_model
from app.program import own_command
from app.version import version
from gguf_tools.units import counted

__all__ = ["CHECKS", "CheckFailed", "Result", "add_arguments", "run", "run_check"]

_REPLY: Final = "Plimsoll works"
_WINDOW_LIMIT_S: Final = 120
_INSIDE: Final = "PLIMSOLL_SELF_TEST_INSIDE"
_MODEL: Final = "self-test.gguf"


class CheckFailed(Exception):  # noqa: N818 - says what happened
    """A part does not do what it is for; the message says what happened instead."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a check found: whether the part works, and in a few words how one sees that."""

    name: str
    passed: bool
    detail: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--only", choices=sorted(CHECKS), metavar="NAME", help="run one check")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Run the checks and print a line each; 0 if all passed, else 1."""
    names = [arguments.only] if arguments.only else list(CHECKS)
    results = []
    for name in names:
        result = run_check(name)
        results.append(result)
        if not arguments.json:
            word = "ok" if result.passed else "FAILED"
            say(f"{word:<7} {result.name:<10} {result.detail}")
            sys.stdout.flush()
    if arguments.json:
        rows = [
            {"name": result.name, "passed": result.passed, "detail": result.detail}
            for result in results
        ]
        print(json_line({"version": version(), "checks": rows}))
    return 0 if all(result.passed for result in results) else 1


def run_check(name: str) -> Result:
    """Run one check in a data folder of its own; any failure is a result, none is raised."""
    before = os.environ.get(DATA_DIR_VARIABLE)
    with tempfile.TemporaryDirectory(prefix="plimsoll-test-", ignore_cleanup_errors=True) as made:
        os.environ[DATA_DIR_VARIABLE] = made
        try:
            return Result(name, True, CHECKS[name](Path(made)))
        except Exception as error:
            said = " ".join(str(error).split())
            kind = "" if isinstance(error, CheckFailed) else f"{type(error).__name__}: "
            return Result(name, False, f"{kind}{said}")
        finally:
            if before is None:
                del os.environ[DATA_DIR_VARIABLE]
            else:
                os.environ[DATA_DIR_VARIABLE] = before


def _require(holds: object, otherwise: str) -> None:
    if not holds:
        raise CheckFailed(otherwise)


def _require_own_libraries(pid: int | None) -> None:
    """See that a process of a built program uses no library of the system that it carries itself.

    It would work here and fail on a computer that has none, or another one.
    """
    if not getattr(sys, "frozen", False) or sys.platform != "linux":
        return
    own = Path(getattr(sys, "_MEIPASS", sys.prefix)).resolve()
    carried = {path.name for path in own.rglob("lib*.so*")}
    for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
        path = line.partition("/")[2]
        name = path.rpartition("/")[2]
        inside = f"/{path}".startswith(f"{own}/")
        _require(inside or name not in carried, f"{name} was taken from /{path}")


# --- the checks; each returns what to say when it passes


def _program(_folder: Path) -> str:
    """The program's own version, and how it was made."""
    from app.updates import build_facts

    _require(version() != "unknown", "the program does not know its version")
    facts = build_facts()
    if not getattr(sys, "frozen", False):
        return f"version {version()}, run from source"
    _require(facts.system, "the file with the facts of the build is missing")
    model = "with" if facts.with_model else "without"
    return f"version {version()}, built for {facts.system} {facts.machine}, {model} a model"


def _resources(_folder: Path) -> str:
    """Fonts, icons, colours, hardware table and licences are there and whole."""
    from resources.licences import licence_text
    from resources.loader import read_bytes, read_text

    fonts = [f"Inter-{cut}.otf" for cut in ("Regular", "Medium", "SemiBold", "Bold", "Italic")]
    fonts += [f"JetBrainsMono-{cut}.ttf" for cut in ("Regular", "Bold", "Italic")]
    for font in fonts:
        head = read_bytes(f"fonts/{font}")[:4]
        _require(head in {b"OTTO", b"\0\1\0\0"}, f"{font} is no font")
    for icon in ("app-icon", "plimsoll", "send", "settings"):
        _require("<svg" in read_text(f"icons/{icon}.svg"), f"{icon}.svg is no picture")
    themes = json.loads(read_text("theme.json"))
    hardware = json.loads(read_text("hardware.json"))
    _require(themes and hardware, "the theme or the hardware table is empty")
    licences = licence_text()
    _require("llama" in licences and "PySide6" in licences, "the licences are incomplete")
    return f"{len(fonts)} fonts, icons, themes, hardware table, {len(licences) >> 10} KiB licences"


def _database(folder: Path) -> str:
    """Chats are stored, found by a search, and there after the store was closed."""
    import sqlite3

    from app.data.conversations import ConversationStore

    path = folder / "chats.sqlite3"
    store = ConversationStore(path)
    try:
        _require(store.notice is None, f"the store says: {store.notice}")
        chat = store.create("A load line")
        store.add_message(chat.id, None, "user", "How deep may a ship be loaded?")
        _require(len(store.search("loaded")) == 1, "the search does not find a message")
    finally:
        store.close()
    again = ConversationStore(path)
    try:
        kept = [found.title for found in again.list_all()]
        _require(kept == ["A load line"], f"the store kept {kept}")
    finally:
        again.close()
    return f"SQLite {sqlite3.sqlite_version}: stored, searched, read again"


def _engine(folder: Path) -> str:
    """The engine's process starts, loads a tiny model and decodes what that model must say."""
    from app.engine.client import EngineClient
    from app.engine.protocol import (
        ChatMessage,
        ChatPrompt,
        Chunk,
        Generate,
        LoadOptions,
        SamplingOptions,
    )
    from resources.loader import read_bytes

    model = folder / _MODEL
    model.write_bytes(read_bytes(_MODEL))
    with EngineClient() as client:
        hello = client.hello
        assert hello is not None
        client.load(str(model), LoadOptions(n_ctx=256))
        request = Generate(
            id=client.new_id(),
            conversation="self-test",
            chat=ChatPrompt(messages=(ChatMessage(id="1", role="user", content="Hello"),)),
            sampling=SamplingOptions(temperature=0.0, max_tokens=8),
        )
        answer, tokens = "", 0
        for message in client.generate(request):
            if isinstance(message, Chunk):
                answer += message.answer
                tokens = message.reply_tokens
        _require_own_libraries(client.pid)
    _require(answer.strip() == _REPLY, f"the model said {answer!r} instead of {_REPLY!r}")
    backends = ", ".join(sorted({device.backend for device in hello.devices}))
    return f"{hello.engine}; {counted(tokens, 'token')} on {backends}; {hello.cpu}"


def _starter(_folder: Path) -> str:
    """The starter model, where this copy carries it, is a whole model file."""
    from gguf_tools.facts import read_facts

    path = starter_model()
    if path is None:
        return "not part of this copy"
    facts = read_facts(str(path))
    _require(facts.loadable, f"{path.name} can't be loaded: {' '.join(facts.warnings)}")
    return f"{path.name}, {path.stat().st_size / 1e6:.0f} MB"


def _window(_folder: Path) -> str:
    """The window opens without a screen, paints itself and closes."""
    if os.environ.get(_INSIDE) == "window":
        from importlib import import_module

        painted: str = import_module("app.ui.self_test").paint_window()
        _require_own_libraries(os.getpid())
        return painted
    environment = {**os.environ, _INSIDE: "window", "QT_QPA_PLATFORM": "offscreen"}
    try:
        done = subprocess.run(
            own_command("self-test", "--only", "window", "--json"),
            env=environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_WINDOW_LIMIT_S,
            check=False,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except subprocess.TimeoutExpired as error:
        raise CheckFailed(f"the window does not close in {_WINDOW_LIMIT_S} s") from error
    lines = done.stdout.splitlines()
    try:
        told = json.loads(lines[-1])["checks"][0]
    except (ValueError, KeyError, IndexError) as error:
        said = " ".join((done.stdout + done.stderr).split())[-400:]
        raise CheckFailed(f"the window ended with code {done.returncode}: {said}") from error
    _require(told["passed"], told["detail"])
    _require(
        not done.stderr.strip() and len(lines) == 1,
        f"the window printed {(done.stderr.strip() or done.stdout)!r}",
    )
    return str(told["detail"])


CHECKS: Final[dict[str, Callable[[Path], str]]] = {
    "program": _program,
    "resources": _resources,
    "database": _database,
    "engine": _engine,
    "starter": _starter,
    "window": _window,
}
