"""Getting models in the whole program, against a hub on this computer and real hub processes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.data.hub.access import kept_token, token_path
from app.data.hub.places import INCOMPLETE
from app.paths import Paths
from app.ui.downloads.token_dialog import TokenDialog
from app.ui.presenters.download_queue import Download
from tests.app.engine.conftest import FakeScript
from tests.helpers.hub_models import add_model
from tests.helpers.hub_server import HubServer
from tests.helpers.library_files import MODELS
from tests.helpers.window import Program

Open = Callable[..., Program]
SMALL = next(shape for shape in MODELS if shape.full_name == "Qwen3-0.6B")
REPOSITORY = "ship/Starter-GGUF"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starter: Path) -> Iterator[HubServer]:
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with HubServer() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        add_model(server, tmp_path / "hub", "a/Small-GGUF", SMALL, ("Q4_K_M", "Q8_0"))
        server.add(REPOSITORY, [(starter.name, starter), ("copy-Q8_0.gguf", starter)])
        yield server


@pytest.fixture
def program(open_program: Open, fake_script: FakeScript, server: HubServer) -> Program:
    fake_script(replies=["ok"])
    program = open_program()
    program.until(lambda: program.app.engine.state.hello is not None)
    return program


def items(program: Program) -> dict[str, Download]:
    return {item.job.title: item for item in program.app.downloads.queue.downloads}


def look_into(program: Program, repository: str) -> None:
    page = program.app.downloads.page
    program.app.downloads.show_page()
    program.app.downloads.open_repository(repository)
    program.until(lambda: bool(page.files.rows()))
    program.until(lambda: all(row.fit.verdict != "waiting" for row in page.files.rows()))


def begin(program: Program, key: str) -> Download:
    count = len(items(program))
    program.app.downloads.download(key)
    program.until(lambda: len(items(program)) > count)
    return program.app.downloads.queue.downloads[-1]


def test_nothing_is_asked_before_the_user_does(program: Program, server: HubServer) -> None:
    window = program.app.window
    window.show_page("models")
    program.app.models_page.page.get_models_requested.emit()
    assert window.page == "get_models"
    assert program.app.downloads.page.field.hasFocus() or not window.isActiveWindow()
    program.qtbot.wait(300)
    assert server.requests == []
    QTest.mouseClick(program.app.downloads.page.back, Qt.MouseButton.LeftButton)
    assert window.page == "models"


def test_from_a_search_to_a_model_in_the_library(
    program: Program, server: HubServer, paths: Paths, starter: Path
) -> None:
    downloads = program.app.downloads
    page = downloads.page
    downloads.show_page()
    QTest.keyClicks(page.field, "starter")
    QTest.keyClick(page.field, Qt.Key.Key_Return)
    program.until(lambda: [row.key for row in page.results.rows()] == [REPOSITORY])
    QTest.keyClick(page.results, Qt.Key.Key_Return)
    program.until(lambda: len(page.files.rows()) == 2)
    program.until(lambda: all(row.fit.verdict != "waiting" for row in page.files.rows()))
    row = next(row for row in page.files.rows() if row.key == starter.name)
    assert row.bits_per_weight == pytest.approx(5.74, abs=0.01)
    assert row.fit.verdict in {"fits", "tight"}
    assert "header" in row.basis
    page.files.choose(starter.name)
    QTest.mouseClick(page.download, Qt.MouseButton.LeftButton)
    program.until(lambda: [item.state for item in items(program).values()] == ["done"])
    path = paths.models / "ship" / "Starter-GGUF" / starter.name
    assert path.read_bytes() == starter.read_bytes()
    program.until(lambda: path in {entry.path for entry in program.app.scanner.entries})
    program.until(
        lambda: page.files.rows()[0].state == "here" or page.files.rows()[1].state == "here"
    )
    (item,) = items(program).values()
    row_widget = page.queue.row(item.job.id)
    assert row_widget is not None
    # Or it is a second click of the first; the row may have come to its buttons just now.
    program.until(lambda: row_widget.button("chat").isVisible())
    program.until(lambda: not row_widget._second_click.is_due)
    with program.qtbot.waitSignal(downloads.chat_requested) as asked:
        QTest.mouseClick(row_widget.button("chat"), Qt.MouseButton.LeftButton)
    assert asked.args == [str(path)]
    program.until(lambda: program.app.window.page == "chat")


def test_several_in_a_queue_and_each_can_be_paused(
    program: Program, server: HubServer, starter: Path
) -> None:
    server.bytes_per_s = 5_000_000
    look_into(program, REPOSITORY)
    queue = program.app.downloads.queue
    first, second = begin(program, starter.name), begin(program, "copy-Q8_0.gguf")
    program.until(lambda: first.done_bytes > 2_000_000)
    assert (first.state, second.state) == ("running", "waiting")
    assert first.transfer is not None
    queue.pause(first.job.id)
    assert first.state == "paused"
    program.until(lambda: second.state == "running")
    # The second had its turn by the pause: the first one is not done, and stays where it was.
    assert first.state == "paused"
    kept = first.done_bytes
    assert kept < starter.stat().st_size
    assert kept > 2_000_000
    server.bytes_per_s = None
    queue.resume(first.job.id)
    program.until(lambda: first.state == second.state == "done")
    resumed = [seen.headers.get("range") for seen in server.requests if seen.host == "localhost"]
    start = int(str(resumed[-1]).removeprefix("bytes=").removesuffix("-"))
    assert start >= kept


def test_a_cancelled_download_leaves_nothing(
    program: Program, server: HubServer, paths: Paths, starter: Path
) -> None:
    server.bytes_per_s = 20_000_000
    look_into(program, REPOSITORY)
    item = begin(program, starter.name)
    program.until(lambda: item.done_bytes > 1_000_000)
    program.app.downloads.queue.remove(item.job.id)
    program.until(lambda: not (paths.models / INCOMPLETE).exists())
    assert items(program) == {}
    assert list(paths.models.rglob("*.gguf")) == []


def test_a_download_goes_on_after_the_program_was_closed(
    open_program: Open, program: Program, server: HubServer, paths: Paths, starter: Path
) -> None:
    server.bytes_per_s = 20_000_000
    look_into(program, REPOSITORY)
    item = begin(program, starter.name)
    program.until(lambda: item.done_bytes > 2_000_000)
    program.close()
    server.bytes_per_s = None
    server.requests.clear()
    again = open_program()
    again.app.downloads.show_page()
    again.until(lambda: [found.state for found in items(again).values()] == ["paused"])
    (found,) = items(again).values()
    assert found.done_bytes > 2_000_000
    assert server.requests == []  # it waits for the user
    again.app.downloads.queue.resume(found.job.id)
    again.until(lambda: found.state == "done")
    path = paths.models / "ship" / "Starter-GGUF" / starter.name
    assert path.read_bytes() == starter.read_bytes()
    (fetched,) = [seen for seen in server.requests if seen.host == "localhost"]
    assert fetched.headers["range"].startswith("bytes=")


def test_a_gated_repository_asks_for_a_token(
    program: Program, server: HubServer, paths: Paths, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.repositories[REPOSITORY].gated = True
    look_into(program, REPOSITORY)
    page = program.app.downloads.page
    assert {row.fit.words for row in page.files.rows()} <= {"≈ fits", "≈ tight", "≈ too large"}
    assert page.token.isVisible()
    QTest.mouseClick(page.token, Qt.MouseButton.LeftButton)
    (dialog,) = program.app.window.findChildren(TokenDialog)
    QTest.keyClicks(dialog.field, "hf_good")
    QTest.mouseClick(dialog.keep, Qt.MouseButton.LeftButton)
    assert kept_token(paths.data) == "hf_good"
    program.until(lambda: any("header" in row.basis for row in page.files.rows()))
    assert not page.token.isVisible()
    assert "hf_good" not in caplog.text
    kept = [path for path in paths.data.rglob("*") if path.is_file() and path.stat().st_size < 1e6]
    holding = [path for path in kept if b"hf_good" in path.read_bytes()]
    assert holding == [token_path(paths.data)]


def test_offline_mode_turns_all_of_it_off(program: Program, server: HubServer) -> None:
    program.app.preferences.set_value("offline", True)
    downloads = program.app.downloads
    downloads.show_page()
    downloads.page.search_for("starter")
    assert downloads.page.results_message.view.title == "Offline mode is on"
    program.qtbot.wait(200)
    assert server.requests == []
    program.app.preferences.set_value("offline", False)
    downloads.page.search_for("starter")
    program.until(lambda: len(downloads.page.results.rows()) == 1)


def test_without_a_network_the_page_says_so_and_tries_again(
    program: Program, server: HubServer
) -> None:
    downloads = program.app.downloads
    downloads.show_page()
    program.app.preferences.set_value("hub_endpoint", "http://127.0.0.1:9")
    downloads.page.search_for("starter")
    program.until(lambda: downloads.page.results_message.view.title == "No connection")
    program.app.preferences.set_value("hub_endpoint", None)
    QTest.mouseClick(downloads.page.results_message.button, Qt.MouseButton.LeftButton)
    program.until(lambda: len(downloads.page.results.rows()) == 1)


def test_no_room_is_said_before_a_byte_is_fetched(
    program: Program, server: HubServer, tmp_path: Path, monkeypatch: Any
) -> None:
    look_into(program, "a/Small-GGUF")
    (tmp_path / "file").write_text("")
    program.app.preferences.set_value("download_folder", str(tmp_path / "file" / "inside"))
    server.requests.clear()
    program.app.downloads.download("Qwen3-0.6B-Q8_0.gguf")
    page = program.app.downloads.page
    program.until(lambda: page.notices.notices() == ["download"])
    assert "choose another one" in page.notices.bar("download").text
    assert items(program) == {}
    assert server.requests == []


def test_another_folder_is_kept_and_looked_into(
    program: Program, server: HubServer, tmp_path: Path, starter: Path
) -> None:
    downloads, settings = program.app.downloads, program.app.settings
    downloads.door.folder_chosen.emit(str(tmp_path / "elsewhere"))
    assert settings.get("download_folder") == str(tmp_path / "elsewhere")
    look_into(program, REPOSITORY)
    item = begin(program, starter.name)
    program.until(lambda: item.state == "done")
    assert Path(item.paths[0]).is_relative_to(tmp_path / "elsewhere")
    assert settings.get("model_folders") == (str(tmp_path / "elsewhere"),)
    program.until(
        lambda: Path(item.paths[0]) in {entry.path for entry in program.app.scanner.entries}
    )
