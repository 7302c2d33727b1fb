from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.data import state
from app.data.state import BadLoad, StateFile
from app.paths import Paths

MODEL = Path("/models/日本.gguf")
OPTIONS = {"n_ctx": 8192, "rpc_servers": ("a:1",)}


def test_everything_comes_back(paths: Paths) -> None:
    first = StateFile(paths.state)
    assert first.blob("geometry") is None
    assert first.last_model is None
    assert not first.compatibility("cpu", "b1")
    first.set_blob("geometry", bytes(range(256)))
    first.set_last_model(MODEL)
    first.set_compatibility("cpu", "b1", True)
    again = StateFile(paths.state)
    assert again.blob("geometry") == bytes(range(256))
    assert again.last_model == MODEL
    assert again.compatibility("cpu", "b1")
    assert not again.compatibility("cpu", "b2")
    assert not again.compatibility("other", "b1")
    again.set_last_model(None)
    assert StateFile(paths.state).last_model is None


def test_two_processes_keep_each_others_changes(paths: Paths) -> None:
    window, terminal = StateFile(paths.state), StateFile(paths.state)
    window.set_blob("geometry", b"1")
    terminal.set_last_model(MODEL)
    window.set_compatibility("cpu", "b1", True)
    kept = StateFile(paths.state)
    assert (kept.blob("geometry"), kept.last_model, kept.compatibility("cpu", "b1")) == (
        b"1", MODEL, True,
    )  # fmt: skip


def test_a_terminal_does_not_change_what_the_window_opens(paths: Paths) -> None:
    kept, other = StateFile(paths.state), Path("/models/other.gguf")
    kept.set_last_terminal_model(other)
    assert (kept.last_model, kept.last_used_model) == (None, other)
    kept.set_last_model(MODEL)
    assert (kept.last_model, kept.last_used_model) == (MODEL, MODEL)
    kept.set_last_terminal_model(other)
    again = StateFile(paths.state)
    assert (again.last_model, again.last_used_model) == (MODEL, other)


def test_a42_a_load_that_ran_out_of_memory_is_not_repeated(paths: Paths) -> None:
    kept = StateFile(paths.state)
    kept.begin_load(MODEL, OPTIONS)
    kept.end_load(MODEL, OPTIONS, "out_of_memory")
    again = StateFile(paths.state)
    assert again.settle_unfinished_load() is None
    bad = again.bad_load(MODEL, OPTIONS)
    assert bad == BadLoad(str(MODEL), {"n_ctx": 8192, "rpc_servers": ["a:1"]})
    assert again.bad_load(MODEL, {"n_ctx": 512}) is None  # worth a try
    assert again.bad_load(Path("/other"), OPTIONS) is None
    again.begin_load(MODEL, OPTIONS)
    again.end_load(MODEL, OPTIONS, "loaded")
    assert again.bad_load(MODEL, OPTIONS) is None


def test_a_load_that_ended_the_program_is_known_at_the_next_start(paths: Paths) -> None:
    StateFile(paths.state).begin_load(MODEL, OPTIONS)
    again = StateFile(paths.state)
    bad = again.settle_unfinished_load()
    assert bad is not None
    assert bad.unfinished
    assert again.settle_unfinished_load() is None
    assert StateFile(paths.state).bad_load(MODEL, OPTIONS) == bad
    again.end_load(MODEL, OPTIONS, "failed")
    assert again.bad_load(MODEL, OPTIONS) is None


def test_bad_loads_do_not_pile_up(paths: Paths) -> None:
    kept = StateFile(None)
    for number in range(80):
        kept.end_load(Path(f"/m{number}"), {}, "out_of_memory")
    assert kept.bad_load(Path("/m0"), {}) is None
    assert kept.bad_load(Path("/m79"), {}) is not None


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 4096, b"{", b"[]", b"7", b"\xff\xfe", b"[" * 100_000, b" " * (2 * 1024 * 1024)],
)
def test_a_damaged_file_is_set_aside(paths: Paths, content: bytes) -> None:
    paths.state.write_bytes(content)
    kept = StateFile(paths.state)
    assert kept.last_model is None
    assert (paths.data / "state.damaged.json").read_bytes() == content
    kept.set_last_model(MODEL)
    assert StateFile(paths.state).last_model == MODEL


def test_values_of_wrong_types_count_as_absent(paths: Paths) -> None:
    paths.state.write_text(
        '{"blobs": {"a": 7, "b": "!!"}, "last_model": 7, "compatibility": [],'
        ' "loading": {"path": 7}, "bad_loads": {"/x": 7, "/y": {"options": 3}}}'
    )
    kept = StateFile(paths.state)
    assert kept.blob("a") is None
    assert kept.blob("b") is None
    assert kept.last_model is None
    assert not kept.compatibility("cpu", "b")
    assert kept.settle_unfinished_load() is None
    assert kept.bad_load(Path("/x"), {}) is None
    assert kept.bad_load(Path("/y"), {}) is not None
    kept.set_compatibility("cpu", "b", True)
    assert kept.compatibility("cpu", "b")


def test_a46_a_disk_that_is_full_is_no_trouble(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = StateFile(paths.state)
    kept.set_last_model(Path("/old"))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(state, "atomic_write", full)
        kept.set_last_model(MODEL)
        kept.set_blob("geometry", b"1")
    assert kept.last_model == MODEL
    assert StateFile(paths.state).last_model == Path("/old")
    kept.set_compatibility("cpu", "b", True)
    again = StateFile(paths.state)
    assert (again.last_model, again.blob("geometry")) == (MODEL, b"1")


def test_threads_undo_none_of_each_others_changes(paths: Paths) -> None:
    both = StateFile(paths.state), StateFile(paths.state)

    def keep(thread: int) -> None:
        for number in range(40):
            both[thread % 2].set_blob(f"{thread} {number}", b"kept")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(keep, range(4)))
    again = StateFile(paths.state)
    lost = [n for t in range(4) for n in range(40) if again.blob(f"{t} {n}") != b"kept"]
    assert not lost
