"""The question for updates, with a real server on this computer and a real window."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app.settings import Settings
from app.ui.main_window import MainWindow
from app.ui.presenters.updates import UpdatesPresenter
from app.ui.theme import ThemeManager
from app.updates import RELEASES_VARIABLE


class Server:
    """Answers every request with the same bytes and remembers what it was asked."""

    def __init__(self) -> None:
        self.body = b""
        self.code = 200
        self.asked: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append({"path": self.path, **dict(self.headers)})
                self.send_response(outer.code)
                self.send_header("Content-Length", str(len(outer.body)))
                self.end_headers()
                self.wfile.write(outer.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/releases/latest"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def offer(self, version: str) -> None:
        page = "https://example.org/releases"
        self.body = json.dumps({"tag_name": version, "html_url": page}).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    made = Server()
    monkeypatch.setenv(RELEASES_VARIABLE, made.url)
    yield made
    made.close()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "settings.json")


@pytest.fixture
def presenter(qtbot: QtBot, settings: Settings) -> Iterator[UpdatesPresenter]:
    window = MainWindow(ThemeManager("dark", 100))
    qtbot.addWidget(window)
    window.show()
    made = UpdatesPresenter(window, settings, window)
    yield made
    if made.dialog is not None:
        made.dialog.close()


def press(presenter: UpdatesPresenter, text: str) -> None:
    assert presenter.dialog is not None
    buttons = {button.text().replace("&", ""): button for button in presenter.dialog.buttons()}
    buttons[text].click()


def heard(qtbot: QtBot, presenter: UpdatesPresenter) -> QMessageBox:
    """Ask, agree, and return the dialog that tells the answer."""
    presenter.ask()
    with qtbot.waitSignal(presenter.finished):
        press(presenter, "Ask")
    assert presenter.dialog is not None
    return presenter.dialog


def test_nothing_is_sent_before_the_user_agrees(
    qtbot: QtBot, server: Server, presenter: UpdatesPresenter
) -> None:
    presenter.ask()
    dialog = presenter.dialog
    assert dialog is not None
    assert "127.0.0.1" in dialog.text()
    assert server.url in dialog.informativeText()
    press(presenter, "Cancel")
    qtbot.wait(200)
    assert server.asked == []


def test_nothing_is_sent_in_offline_mode(
    qtbot: QtBot, server: Server, presenter: UpdatesPresenter, settings: Settings
) -> None:
    settings.set("offline", True)
    with qtbot.waitSignal(presenter.finished):
        presenter.ask()
    assert presenter.dialog is not None
    assert presenter.dialog.text().startswith("Offline mode is on")
    assert "settings" in presenter.dialog.informativeText()
    assert "Ask" not in {button.text() for button in presenter.dialog.buttons()}
    presenter.dialog.close()
    # Also where it was turned on while the question stood.
    settings.set("offline", False)
    presenter.ask()
    settings.set("offline", True)
    press(presenter, "Ask")
    assert presenter.dialog is not None
    assert presenter.dialog.text().startswith("Offline mode is on")
    qtbot.wait(200)
    assert server.asked == []


def test_a_newer_version_is_offered_and_its_page_opened_only_when_asked(
    qtbot: QtBot, server: Server, presenter: UpdatesPresenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    server.offer("v999.0")
    dialog = heard(qtbot, presenter)
    assert "999.0" in dialog.text()
    assert opened == []
    press(presenter, "Open its page")
    assert opened == ["https://example.org/releases"]


def test_the_request_tells_nothing_of_this_computer(
    qtbot: QtBot, server: Server, presenter: UpdatesPresenter
) -> None:
    server.offer("v0.0.1")
    heard(qtbot, presenter)
    (request,) = server.asked
    assert request["path"] == "/releases/latest"
    assert request["User-Agent"] == "Plimsoll"
    assert request["Accept-Language"] == "*"
    assert "Cookie" not in request


def test_the_newest_version_is_told_to_be_so(
    qtbot: QtBot, server: Server, presenter: UpdatesPresenter
) -> None:
    server.offer("v0.0.1")
    assert heard(qtbot, presenter).text().startswith("You have the newest version")


@pytest.mark.parametrize(("code", "body"), [(404, b""), (200, b"<html>"), (200, b"x" * 3_000_000)])
def test_a_bad_answer_is_said_and_harmless(
    qtbot: QtBot, server: Server, presenter: UpdatesPresenter, code: int, body: bytes
) -> None:
    server.code, server.body = code, body
    dialog = heard(qtbot, presenter)
    assert dialog.text() == "The newest version is not known."
    assert dialog.informativeText()


def test_a_server_that_is_away_is_said(
    qtbot: QtBot, server: Server, presenter: UpdatesPresenter
) -> None:
    server.close()
    server._server.server_close()
    dialog = heard(qtbot, presenter)
    assert dialog.text() == "The newest version is not known."


def test_a_copy_without_an_address_says_so(
    presenter: UpdatesPresenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(RELEASES_VARIABLE, raising=False)
    presenter.ask()
    assert presenter.dialog is not None
    assert "does not know where" in presenter.dialog.text()
