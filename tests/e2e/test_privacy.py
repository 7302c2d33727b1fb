"""A whole session on a fresh home: nothing goes over a network, others can read nothing, what was
said stands in the store alone, and nothing is left but the folders that the program names.

The session is `tests.helpers.whole_session`, run through the program's own entry.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.data.conversations import ConversationStore
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.whole_session import CANARIES

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="modes, /dev/shm and traces of Linux"),
    pytest.mark.timeout(400),
    pytest.mark.xdist_group("privacy"),
]
_ROOT = Path(__file__).resolve().parents[2]
# Every Python process of the session tells of its sockets: imported by the interpreter itself.
_LISTENER = r"""
import os, sys
def _tell(line, _file=os.environ["SOCKETS_SEEN"]):
    with open(_file, "a") as out:
        out.write(line + "\n")
def _hear(event, values):
    if event.startswith("socket.") and event not in {"socket.__new__", "socket.gethostname"}:
        _tell(f"{event} {values[1:]!r}")
_tell("listening")
sys.addaudithook(_hear)
"""
_OPENED = re.compile(r"\b(?:socket|connect|bind|sendto|sendmsg)\(.*\bAF_INET6?\b")
_BY_NAME = re.compile(r"\bconnect\(.*AF_UNIX, sun_path=(@?\"[^\"]*\")")


@dataclass(frozen=True)
class Session:
    """Where a session ran and what it said."""

    home: Path
    temporary: Path
    files: Path
    output: str
    sockets: str
    trace: str

    @property
    def data(self) -> Path:
        return self.home / ".local/share/Plimsoll"

    @property
    def left(self) -> list[Path]:
        """Everything that lies in the home folder and that of temporary files."""
        return sorted([*self.home.rglob("*"), *self.temporary.rglob("*")])


def _shared_memory() -> set[str]:
    return {path.name for path in Path("/dev/shm").iterdir()}


def _run(folder: Path, umask: int) -> Session:
    home, temporary, files = folder / "home", folder / "tmp", folder / "files"
    listener = folder / "listener"
    for made in (home, temporary, files / "models", listener):
        made.mkdir(parents=True)
    (listener / "sitecustomize.py").write_text(_LISTENER)
    for name, layers in (("Tiny-Q4_0", 1), ("Tiny-Q8_0", 2)):
        write_tiny_model(files / "models" / f"{name}.gguf", TinyModel(layers=layers, context=1024))
    sockets = folder / "sockets"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "PYTHONPATH": str(listener),
        "SOCKETS_SEEN": str(sockets),
        "QT_QPA_PLATFORM": "offscreen",
    }
    command = [sys.executable, "-m", "tests.helpers.whole_session", str(files)]
    done, trace = _overheard(command, environment, folder / "trace", umask)
    assert done.returncode == 0, done.stdout[-4000:]
    return Session(home, temporary, files, done.stdout, sockets.read_text(), trace)


def _overheard(
    command: list[str], environment: dict[str, str], trace: Path, umask: int
) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run a command, listened to by strace where that is installed; return its trace, too."""
    if shutil.which("strace"):
        command = ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(trace), *command]
    done = subprocess.run(
        command,
        cwd=_ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=380,
        umask=umask,
    )
    return done, trace.read_text(errors="replace") if trace.exists() else ""


def _over_a_network(sockets: str, trace: str) -> list[str]:
    """Return what went over a network, by the interpreters' own words and by the system's."""
    told = [line for line in sockets.splitlines() if line != "listening"]
    outside = [line for line in told if not re.search(r"\('/", line)]  # a path is no address
    return outside + [line for line in trace.splitlines() if _OPENED.search(line)]


@pytest.fixture(scope="module")
def shared_memory_before() -> set[str]:
    return _shared_memory()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, shared_memory_before: set[str]) -> Session:
    """A session where everybody may read everything that is not made private."""
    return _run(tmp_path_factory.mktemp("session"), 0o000)


def test_nothing_goes_over_a_network(session: Session) -> None:
    assert session.sockets.count("listening") > 4  # window, workers, renderers of templates
    assert _over_a_network(session.sockets, session.trace) == []
    lines = session.trace.splitlines()
    named = {match[1] for line in lines if (match := _BY_NAME.search(line))}
    ours = {name for name in named if str(session.home) in name or str(session.temporary) in name}
    # Besides our own: the names that glibc and Qt ask the system for.
    assert {name for name in named - ours if "/nscd/" not in name and "bus" not in name} == set()


def test_a_word_over_a_network_would_be_heard(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(_LISTENER)
    sockets = tmp_path / "sockets"
    environment = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "SOCKETS_SEEN": str(sockets),
    }  # fmt: skip
    code = "import socket; socket.socket().connect_ex(('127.0.0.1', 9))"
    _done, trace = _overheard([sys.executable, "-c", code], environment, tmp_path / "trace", 0o022)
    heard = _over_a_network(sockets.read_text(), trace)
    assert [line for line in heard if line.startswith("socket.connect")]
    assert not trace or [line for line in heard if "AF_INET" in line]


def test_nobody_else_can_read_what_is_kept(session: Session) -> None:
    kept = [path for path in session.home.rglob("*") if not path.is_symlink()]
    assert {"chats.sqlite3", "state.json", "settings.json", "plimsoll.log"} <= {
        path.name for path in kept
    }
    open_to_others = {
        str(path.relative_to(session.home)): oct(path.stat().st_mode & 0o777)
        for path in kept
        if path.stat().st_mode & 0o077
    }
    assert open_to_others == {}
    exported = [session.files / "chats.json", session.files / "chats.md"]
    assert [path.stat().st_mode & 0o777 for path in exported] == [0o600, 0o600]


def test_what_was_said_stands_in_the_store_alone(session: Session) -> None:
    allowed = {
        # The chats, and beside a chat's draft that of a new one; comparisons that were kept.
        "message": {"chats.sqlite3"},
        "title": {"chats.sqlite3"},
        "system prompt": {"chats.sqlite3"},
        "name of an attachment": {"chats.sqlite3"},
        "text of an attachment": {"chats.sqlite3"},
        "draft": {"chats.sqlite3"},
        "prompt of a comparison": {"comparisons"},
    }
    files = [path for path in session.left if path.is_file()]
    assert any(path.name == "plimsoll.log" and path.stat().st_size for path in files)
    for what, words in CANARIES.items():
        encoded = {words.encode(), words.encode("utf-16-le"), *_in_base64(words)}
        holding = {
            path.parent.name if path.parent.name == "comparisons" else path.name
            for path in files
            if any(form in path.read_bytes() for form in encoded)
        }
        # The prompt of a comparison is offered again at the next one: the program's memory.
        assert holding <= allowed.get(what, set()) | (
            {"state.json"} if what == "prompt of a comparison" else set()
        ), what
    with_chats = session.data / "chats.sqlite3"
    assert CANARIES["message"].encode() in with_chats.read_bytes()
    assert not any(words in session.output for words in CANARIES.values())


def _in_base64(words: str) -> set[bytes]:
    """Return what of a text is found in base64, wherever in it the text begins."""
    return {
        base64.b64encode(b"\0" * ahead + words.encode())[4 if ahead else 0 : -4]
        for ahead in range(3)
    }


def test_nothing_is_left_but_the_named_folders(
    session: Session, shared_memory_before: set[str]
) -> None:
    home = session.home
    ours = (session.data, home / ".cache/Plimsoll")
    above = {path for folder in ours for path in folder.parents}
    elsewhere = [
        path
        for path in session.left
        if path not in above and not any(path.is_relative_to(folder) for folder in ours)
    ]
    assert elsewhere == []
    assert _shared_memory() <= shared_memory_before
    # A session that ended leaves no halves, no locks that are held, no socket.
    names = {path.name for path in session.left}
    assert not {name for name in names if name.endswith((".new", ".part", "-wal", "-shm"))}
    assert not [path for path in session.left if path.is_socket()]
    state = json.loads((session.data / "state.json").read_bytes())
    assert "loading" not in state


def test_the_session_did_what_it_was_to_do(session: Session) -> None:
    store = ConversationStore(session.data / "chats.sqlite3", read_only=True)
    try:
        (chat,) = store.list_all()
        assert chat.title == CANARIES["title"]
        assert chat.system_prompt == CANARIES["system prompt"]
        asked, reply = store.path(chat.id)
        assert asked.text.startswith(CANARIES["message"])
        assert asked.attachments[0].text == CANARIES["text of an attachment"]
        assert reply.state in {"complete", "stopped"}
    finally:
        store.close()
    assert not list(session.data.glob("chats.sqlite3-*"))  # nor does who only reads leave a log
    assert len(list((session.data / "comparisons").glob("*.json"))) == 1
    assert (session.data / "models" / "Made-Q8_0.gguf").stat().st_size > 10_000
    assert "Traceback" not in session.output


def test_models_that_are_made_where_the_user_wants_them_are_read_by_others(
    tmp_path: Path,
) -> None:
    source = write_tiny_model(tmp_path / "Tiny-F32.gguf", TinyModel(layers=1))
    target = tmp_path / "shared" / "Tiny-Q8_0.gguf"
    target.parent.mkdir()
    command = ["-m", "app", "quantize", str(source), str(target), "--type", "Q8_0"]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
        umask=0o022,
    )
    assert done.returncode == 0, done.stderr
    assert target.stat().st_mode & 0o777 == 0o644
