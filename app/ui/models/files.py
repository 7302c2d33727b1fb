"""Model files outside the window: what is dropped, where it is shown, and the trash.

`move_to_trash` belongs on a background thread: moving gigabytes to another disk takes a while.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QFile, QMimeData, QProcess, QUrl
from PySide6.QtGui import QDesktopServices

__all__ = ["dropped_paths", "files_to_trash", "move_to_trash", "open_folder", "reveal"]


def dropped_paths(data: QMimeData) -> list[str]:
    """Return the local GGUF files and folders of a drag."""
    paths = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
    return [path for path in paths if path.lower().endswith(".gguf") or Path(path).is_dir()]


def open_folder(path: Path) -> None:
    """Open the folder of a file in the system's file manager."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent)))


def reveal(path: Path) -> None:
    """Show a file chosen in its folder, or the folder alone where that can't be asked for."""
    if sys.platform == "darwin":
        QProcess.startDetached("open", ["-R", str(path)])
    elif sys.platform == "win32":
        QProcess.startDetached("explorer.exe", ["/select,", str(path)])
    elif not _reveal_by_bus(path):
        open_folder(path)


def _reveal_by_bus(path: Path) -> bool:
    """Ask the desktop's file manager (freedesktop's FileManager1); tell whether one listens."""
    try:
        from PySide6.QtDBus import QDBusConnection, QDBusMessage
    except ImportError:
        return False
    bus = QDBusConnection.sessionBus()
    name = "org.freedesktop.FileManager1"
    interface = bus.interface() if bus.isConnected() else None
    if interface is None:
        return False
    listed = interface.call("ListActivatableNames").arguments()
    if not listed or name not in listed[0]:
        return False
    message = QDBusMessage.createMethodCall(
        name, "/org/freedesktop/FileManager1", name, "ShowItems"
    )
    message.setArguments([[QUrl.fromLocalFile(str(path)).toString()], ""])
    return bool(bus.send(message))


def files_to_trash(files: Iterable[Path]) -> tuple[Path, ...]:
    """Return what has to go for these files to be gone: a link's target goes with it."""
    found: dict[Path, None] = {}
    for file in files:
        found[file] = None
        if file.is_symlink():
            found[file.resolve()] = None
    return tuple(found)


def move_to_trash(files: Iterable[Path]) -> list[Path]:
    """Move files to the system's trash; return those that could not be moved, which are kept."""
    left = []
    for file in files_to_trash(files):
        if not file.exists() and not file.is_symlink():
            continue
        moved = QFile.moveToTrash(str(file))
        if not (moved[0] if isinstance(moved, tuple) else moved):
            left.append(file)
    return left
