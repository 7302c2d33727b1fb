from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.data.conversations import ConversationStore
from app.data.errors import StoreUnavailable, UnknownId
from app.data.writer import StoreThread
from tests.helpers.patience import PATIENCE_S

WAIT_S = 30


def test_work_is_done_in_order_in_one_other_thread(store_path: Path) -> None:
    thread = StoreThread(store_path)
    assert thread.opened.result(WAIT_S) is None
    seen: list[tuple[int, int]] = []
    done = [
        thread.submit(lambda _, n=n: seen.append((n, threading.get_ident())))  # type: ignore[misc]
        for n in range(100)
    ]
    for future in done:
        future.result(WAIT_S)
    assert [n for n, _ in seen] == list(range(100))
    assert len({ident for _, ident in seen}) == 1
    assert seen[0][1] != threading.get_ident()
    assert thread.close()


def test_close_does_what_was_handed_in(store_path: Path) -> None:
    thread = StoreThread(store_path)
    chat = thread.submit(lambda s: s.create("kept")).result(WAIT_S)
    gate = threading.Event()
    thread.submit(lambda _: gate.wait(WAIT_S))
    for n in range(50):
        thread.submit(lambda s, n=n: s.add_message(chat.id, None, "user", str(n)))  # type: ignore[misc]
    assert not thread.close(timeout_s=0)
    with pytest.raises(RuntimeError, match="closed"):
        thread.submit(lambda s: s.list_all())
    gate.set()
    assert thread.close()
    store = ConversationStore(store_path)
    assert len(store.messages(chat.id)) == 50
    store.close()


def test_a_failure_is_the_callers_and_the_thread_goes_on() -> None:
    thread = StoreThread(None)
    failed = thread.submit(lambda s: s.path("nothing"))
    assert isinstance(failed.exception(WAIT_S), UnknownId)
    assert thread.submit(lambda s: s.list_all()).result(WAIT_S) == []
    assert thread.close()


def test_cancelled_work_is_not_done() -> None:
    thread = StoreThread(None)
    gate = threading.Event()
    thread.submit(lambda _: gate.wait(WAIT_S))
    unwanted = thread.submit(lambda s: s.create("unwanted"))
    assert unwanted.cancel()
    gate.set()
    assert thread.submit(lambda s: s.list_all()).result(WAIT_S) == []
    assert thread.close()


def test_the_notice_comes_with_the_opening(store_path: Path) -> None:
    store_path.write_bytes(bytes(64 * 1024))
    thread = StoreThread(store_path)
    notice = thread.opened.result(WAIT_S)
    assert notice is not None
    assert notice.kind == "recovered"
    assert thread.close()


def test_a_store_that_cannot_be_opened_fails_everything(tmp_path: Path) -> None:
    path = tmp_path / "chats.sqlite3"
    path.write_bytes(b"not a store at all, and only to be read")
    thread = StoreThread(path, read_only=True)
    assert isinstance(thread.opened.exception(WAIT_S), StoreUnavailable)
    assert isinstance(thread.submit(lambda s: s.list_all()).exception(WAIT_S), StoreUnavailable)
    assert thread.close()


def test_a_program_that_forgets_to_close_loses_nothing(store_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from app.data.writer import StoreThread
thread = StoreThread(Path(sys.argv[1]))
for n in range(200):
    thread.submit(lambda s: s.create(f"chat"))
"""
    subprocess.run([sys.executable, "-c", program, str(store_path)], check=True, timeout=PATIENCE_S)
    store = ConversationStore(store_path)
    assert len(store.list_all()) == 200
    store.close()
