"""``Help > Look for updates``: asks the user, then one address, then says what it heard.

Nothing here runs by itself: without the user's yes no connection is made.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtNetwork import QNetworkAccessManager, QNetworkReply, QNetworkRequest
from PySide6.QtWidgets import QMessageBox, QPushButton

from app.settings import Settings
from app.ui.main_window import MainWindow
from app.updates import (
    MOST_ANSWER_BYTES,
    Release,
    UpdateError,
    is_newer,
    parse_release,
    releases_url,
)
from app.version import version

__all__ = ["UpdatesPresenter"]

_TIME_LIMIT_MS = 15_000


class UpdatesPresenter(QObject):
    """Signals:
    finished: a question was answered, by whatever; the last dialog is `dialog`.
    """

    finished = Signal()

    def __init__(
        self, window: MainWindow, settings: Settings, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._settings = settings
        self._network: QNetworkAccessManager | None = None
        self._reply: QNetworkReply | None = None
        self.dialog: QMessageBox | None = None

    @Slot()
    def ask(self) -> None:
        """Say what would be asked of whom, and ask it if the user agrees."""
        url = releases_url()
        if url is None:
            self._tell(
                self.tr("This copy does not know where its releases are published."),
                self.tr("Look where you got it from; it is version {0}.").format(version()),
            )
            return
        if self._settings.get("offline"):
            self._tell_offline()
            return
        host = QUrl(url).host()
        box = self._box(
            self.tr("Ask {0} for the newest version?").format(host),
            self.tr(
                "One request is sent to this address, with nothing about you or this computer in "
                "it:\n{0}"
            ).format(url),
        )
        yes = box.addButton(self.tr("Ask"), QMessageBox.ButtonRole.AcceptRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(yes)
        yes.clicked.connect(lambda: self._fetch(url))
        box.open()

    def _box(self, text: str, more: str = "") -> QMessageBox:
        box = QMessageBox(self._window)
        box.setObjectName("updatesDialog")
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle(self.tr("Updates"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(text)
        box.setInformativeText(more)
        self.dialog = box
        box.destroyed.connect(lambda _gone, mine=box: self._forget(mine))
        return box

    def _forget(self, box: QMessageBox) -> None:
        if self.dialog is box:
            self.dialog = None

    def _tell(self, text: str, more: str = "") -> None:
        box = self._box(text, more)
        box.addButton(QMessageBox.StandardButton.Close)
        box.open()
        self.finished.emit()

    def _tell_offline(self) -> None:
        self._tell(
            self.tr("Offline mode is on: nobody is asked for a newer version."),
            self.tr("Turn it off in the settings (Privacy), then look again."),
        )

    def _fetch(self, url: str) -> None:
        if self._reply is not None:
            return
        if self._settings.get("offline"):  # turned on while the question stood
            self._tell_offline()
            return
        if self._network is None:
            self._network = QNetworkAccessManager(self)
        request = QNetworkRequest(QUrl(url))
        request.setTransferTimeout(_TIME_LIMIT_MS)
        request.setAttribute(
            QNetworkRequest.Attribute.RedirectPolicyAttribute,
            QNetworkRequest.RedirectPolicy.NoLessSafeRedirectPolicy,
        )
        # Qt's own header would name the system and the language.
        request.setRawHeader(b"User-Agent", b"Plimsoll")
        request.setRawHeader(b"Accept-Language", b"*")
        request.setRawHeader(b"Accept", b"application/json")
        reply = self._network.get(request)
        reply.downloadProgress.connect(self._on_progress)
        reply.finished.connect(self._on_finished)
        self._reply = reply

    @Slot("qint64", "qint64")
    def _on_progress(self, received: int, _total: int) -> None:
        if self._reply is not None and received > MOST_ANSWER_BYTES:
            self._reply.abort()

    @Slot()
    def _on_finished(self) -> None:
        reply, self._reply = self._reply, None
        if reply is None:
            return
        reply.deleteLater()
        if reply.error() != QNetworkReply.NetworkError.NoError:
            self._tell(self.tr("The newest version is not known."), reply.errorString())
            return
        try:
            release = parse_release(bytes(reply.readAll().data()))
        except UpdateError as error:
            self._tell(self.tr("The newest version is not known."), str(error))
            return
        if is_newer(release.version, version()):
            self._offer(release)
        else:
            self._tell(self.tr("You have the newest version, {0}.").format(version()))

    def _offer(self, release: Release) -> None:
        box = self._box(
            self.tr("Version {0} is out; you have {1}.").format(release.version, version()),
            self.tr("Its page is opened in your browser; nothing is installed by itself.\n{0}")
            .format(release.page_url),
        )  # fmt: skip
        button: QPushButton = box.addButton(
            self.tr("Open its page"), QMessageBox.ButtonRole.AcceptRole
        )
        box.addButton(QMessageBox.StandardButton.Close)
        button.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(release.page_url)))
        box.open()
        self.finished.emit()
