"""The menu of a message: what can be done with the text under the mouse, then with all of it."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QTextEdit, QWidget

from app.ui.transcript.controls import controls_for, tr
from app.ui.transcript.entry import Entry
from app.ui.transcript.host import RowHost

__all__ = ["message_menu"]


def _short(address: str) -> str:
    shown = address if len(address) <= 60 else address[:59] + "…"
    return shown.replace("&", "&&")


def message_menu(host: RowHost, entry: Entry, text: object, href: str) -> QMenu:
    """Return the menu; it deletes itself when it closes.

    ``text`` is the row under the mouse, if it has text of its own, ``href`` the link there.
    """
    from app.ui.transcript.markdown import links_in

    menu = QMenu(host if isinstance(host, QWidget) else None)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    message = entry.view.id
    if href:
        menu.addAction(tr("Open link…"), lambda: host.open_link(message, href))
        menu.addAction(tr("Copy address"), lambda: host.copy_text(href))
        menu.addSeparator()
    _add_text_actions(menu, host, entry, text)
    controls = [c for c in controls_for(entry.view) if c.kind != "copy"]
    if controls:
        menu.addSeparator()
    for control in controls:
        action = menu.addAction(tr(control.label))
        if control.key:
            action.setShortcut(control.key)
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        if control.kind == "previous_version":
            action.setEnabled(entry.view.version_index > 0)
        elif control.kind == "next_version":
            action.setEnabled(entry.view.version_index + 1 < entry.view.version_count)
        action.triggered.connect(lambda _=False, kind=control.kind: host.act(kind, message))
    links = links_in(entry.view.text) if not href and entry.view.role == "assistant" else []
    if links:
        menu.addSeparator()
        part = menu.addMenu(tr("Links"))
        for link in links:
            action = part.addAction(_short(link))
            action.triggered.connect(partial(host.open_link, message, link))
    return menu


def _add_text_actions(menu: QMenu, host: RowHost, entry: Entry, text: object) -> None:
    selected = text.selected_plain() if hasattr(text, "selected_plain") else ""
    if selected:
        menu.addAction(tr("Copy selection"), lambda: host.copy_text(selected))
        if hasattr(text, "selected_markdown"):
            markdown = text.selected_markdown()
            menu.addAction(tr("Copy selection as Markdown"), partial(host.copy_text, markdown))
    menu.addAction(tr("Copy message"), lambda: host.copy_text(entry.plain_text()))
    menu.addAction(tr("Copy message as Markdown"), lambda: host.copy_text(entry.view.text))
    view = text if isinstance(text, QTextEdit) else getattr(text, "view", None)
    if view is not None and hasattr(view, "selectAll"):
        menu.addAction(tr("Select all"), view.selectAll)
