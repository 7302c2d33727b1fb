"""The context menu of what is chosen on the Models page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu

from app.ui.models.views import VariantView

if TYPE_CHECKING:
    from app.ui.models.page import ModelsPage

__all__ = ["LEAST_COMPARED", "MOST_COMPARED", "variant_menu"]

LEAST_COMPARED: Final = 2
MOST_COMPARED: Final = 6


def _tr(text: str) -> str:
    return QCoreApplication.translate("ModelsPage", text)


def variant_menu(page: ModelsPage, rows: Sequence[VariantView], compared: Sequence[str]) -> QMenu:
    """Return what can be done with chosen rows, at least one; wishes leave by the page's signals.

    Args:
        page: whose signals are emitted.
        rows: what is chosen.
        compared: keys of what Compare would compare.
    """
    menu = QMenu(page)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    keys = [row.key for row in rows]
    first, single = keys[0], len(rows) == 1
    chat = single and rows[0].may_chat

    def add(text: str, do: Callable[[], object], *, enabled: bool = True) -> QAction:
        action = menu.addAction(text)
        action.setEnabled(enabled)
        action.triggered.connect(lambda _checked=False: do())
        return action

    add(_tr("Chat with it"), partial(page.chat_requested.emit, first), enabled=chat)
    settings = partial(page.load_settings_requested.emit, first)
    add(_tr("Load settings…"), settings, enabled=chat)
    add(_tr("Details"), partial(page.details_requested.emit, first), enabled=single)
    add(_tr("Plan"), partial(page.plan_requested.emit, first), enabled=chat)
    add(_tr("Make a variant…"), partial(page.make_requested.emit, first), enabled=chat)
    add(
        _tr("Compare"),
        partial(page.compare_requested.emit, tuple(compared)),
        enabled=LEAST_COMPARED <= len(compared) <= MOST_COMPARED,
    )
    menu.addSeparator()
    add(_tr("Open its folder"), partial(page.folder_opened.emit, first), enabled=single)
    add(_tr("Show it in the file manager"), partial(page.revealed.emit, first), enabled=single)
    add(_tr("Copy path"), partial(QGuiApplication.clipboard().setText, "\n".join(keys)))
    menu.addSeparator()
    if all(row.is_hidden for row in rows):
        add(_tr("Put back into the list"), partial(page.put_back_requested.emit, keys))
    else:
        add(_tr("Remove from the list"), partial(page.hide_requested.emit, keys))
    add(_tr("Move to the trash…"), partial(page.trash_requested.emit, keys))
    return menu
