"""A47: two programs, one store, and what a killed one leaves behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.data import lock as lock_module
from app.data.conversations import ConversationStore
from app.data.lock import ProcessLock

HOLDER = """
import sys
from pathlib import Path
from app.data.conversations import ConversationStore
store = ConversationStore(Path(sys.argv[1]))
chat = store.create("of the other process")
reply = store.start_reply(chat.id, None)
store.save_reply(reply.id, "as far as it came")
print(store.read_only, flush=True)
sys.stdin.read()
"""


def hold(path: Path) -> subprocess.Popen[str]:
    """Start another process that has the store open and is in the middle of a reply."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "False\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a47_a_second_process_reads_only_and_says_so(store_path: Path) -> None:
    process = hold(store_path)
    store = ConversationStore(store_path)
    assert store.read_only
    assert store.notice is not None
    assert f"(process {process.pid})" in store.notice.sentence
    (chat,) = store.list_all()
    assert store.path(chat.id)[0].text == "as far as it came"
    store.close()
    end(process)


def test_a47_a_killed_process_leaves_no_lock(store_path: Path) -> None:
    process = hold(store_path)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    store = ConversationStore(store_path)
    assert not store.read_only
    assert store.notice is None
    assert store.close_interrupted() == 1
    (chat,) = store.list_all()
    reply = store.path(chat.id)[0]
    assert (reply.text, reply.state) == ("as far as it came", "interrupted")
    store.close()


def test_waiting_for_a_process_that_ends_soon(store_path: Path) -> None:
    process = hold(store_path)
    assert process.stdin is not None
    process.stdin.close()  # ends it while we wait
    store = ConversationStore(store_path, lock_wait_s=30)
    assert not store.read_only
    store.close()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_a_lock_is_taken_once_and_given_back(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    first, second = ProcessLock(path), ProcessLock(path)
    assert first.acquire()
    assert first.acquire()
    assert not second.acquire(wait_s=0.1)
    assert second.holder_pid == os.getpid()
    first.release()
    assert second.acquire()
    second.release()
    second.release()


def test_a_file_system_without_locks_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(_: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(lock_module, "_try_lock", no_locks)
    lock = ProcessLock(tmp_path / "x.lock")
    assert lock.acquire()
    assert not lock.enforced
    lock.release()


def test_a_lock_file_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"x\.lock"):
        ProcessLock(tmp_path / "missing" / "x.lock").acquire()


def test_damaged_words_about_the_holder_are_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    first, second = ProcessLock(path), ProcessLock(path)
    assert first.acquire()
    path.write_bytes(b"\xff\0nonsense")
    assert not second.acquire()
    assert second.holder_pid is None
    first.release()
