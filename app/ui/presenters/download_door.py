"""The way to the hub and the place for downloads, as settings, folder and token say."""

from __future__ import annotations

import shutil
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QUrl, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from app.data.hub.access import forget_token, keep_token, kept_token, token_path
from app.data.hub.client import endpoint_of
from app.data.hub.protocol import Access
from app.data.hub.values import HubAccess
from app.paths import Paths
from app.settings import Settings
from app.ui import tasks
from app.ui.downloads.token_dialog import TokenDialog
from app.ui.downloads.views import PlaceView
from app.ui.theme import ThemeManager
from gguf_tools.units import format_bytes
from inspector.widgets.text import joined

__all__ = ["HubDoor"]


class HubDoor(QObject):
    """Signals:
    token_changed(): there is another token, or none any more.
    place_known(PlaceView): answer to `tell_place`.
    folder_chosen(str): downloads are to go there.
    """

    token_changed = Signal()
    place_known = Signal(object)
    folder_chosen = Signal(str)

    def __init__(
        self,
        settings: Settings,
        paths: Paths,
        themes: ThemeManager,
        window: QWidget,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self._paths = paths
        self._themes = themes
        self._window = window

    @property
    def is_offline(self) -> bool:
        """Whether the network is not to be used."""
        return bool(self._settings.get("offline"))

    @property
    def folder(self) -> Path:
        """Where downloads go."""
        chosen = self._settings.get("download_folder")
        return Path(chosen).expanduser().absolute() if chosen else self._paths.models

    @property
    def endpoint(self) -> str:
        """The hub's address."""
        return endpoint_of(self._settings.get("hub_endpoint"))

    def access(self) -> Access:
        """Return what a hub process has to know."""
        return Access(
            access=HubAccess(
                endpoint=self.endpoint,
                token=kept_token(self._paths.data),
                offline=self.is_offline,
            ),
            cache=str(self._paths.cache / "hub-headers"),
        )

    def tell_place(self) -> None:
        """Find out how much is free where downloads go; `place_known` follows."""
        folder, host = self.folder, QUrl(self.endpoint).authority()

        def free() -> int | None:
            for place in (folder, *folder.parents):
                try:
                    return shutil.disk_usage(place).free
                except OSError:
                    continue
            return None

        def tell(size: int | None) -> None:
            parts = (
                self.tr("Asks %1 only when you search or download").replace("%1", host),
                self.tr("downloads go to %1").replace("%1", str(folder)),
                self.tr("%1 free").replace("%1", format_bytes(size)) if size is not None else "",
            )
            self.place_known.emit(PlaceView(joined(parts), str(folder)))

        tasks.run(free, tell, None, self)

    @Slot()
    def ask_folder(self) -> None:
        """Ask where downloads are to go."""
        dialog = QFileDialog(self._window, self.tr("Folder for downloads"), str(self.folder))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.folder_chosen)
        dialog.open()

    @Slot()
    def ask_token(self) -> None:
        """Ask for an access token, and keep it."""
        data = self._paths.data
        dialog = TokenDialog(
            self._themes,
            kept=kept_token(data) is not None,
            place=str(token_path(data)),
            parent=self._window,
        )
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

        def done() -> None:
            dialog.accept()
            self.token_changed.emit()

        def keep(token: str) -> None:
            try:
                keep_token(data, token)
            except ValueError as error:
                dialog.say(str(error))
            except OSError as error:
                text = self.tr("The token can't be kept: %1.")
                dialog.say(text.replace("%1", error.strerror or str(error)))
            else:
                done()

        def forget() -> None:
            try:
                forget_token(data)
            except OSError as error:
                text = self.tr("The token can't be removed: %1.")
                dialog.say(text.replace("%1", error.strerror or str(error)))
            else:
                done()

        dialog.token_given.connect(keep)
        dialog.token_removed.connect(forget)
        dialog.open()
