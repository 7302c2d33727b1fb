"""The pages in the middle of the window, of which each is made when it is first shown."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

__all__ = ["PageStack"]


class PageStack(QStackedWidget):
    """Pages by key. One that was offered is made, by who offered it, when it is asked for.

    Signals:
        least_width_changed(): pages can be made less or more narrow than before; what stands
            beside them has other room.
    """

    least_width_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pages: dict[str, QWidget] = {}
        self._makers: dict[str, Callable[[], object]] = {}
        self._within: dict[str, str] = {}
        self._least_px = 0

    def offer(self, key: str, make: Callable[[], object], within: str = "") -> None:
        """Take a page that ``make`` will `add`; ``within`` is the one that leads to it."""
        self._refuse(key)
        self._makers[key] = make
        if within:
            self._within[key] = within

    def add(self, key: str, page: QWidget, within: str = "") -> bool:
        """Add a page; tell whether it was offered before.

        Raises:
            ValueError: there is one of this key already.
        """
        offered = self._makers.pop(key, None) is not None
        self._refuse(key)
        self._pages[key] = page
        if within:
            self._within[key] = within
        self.addWidget(page)
        return offered

    def _refuse(self, key: str) -> None:
        if key in self._pages or key in self._makers:
            raise ValueError(f"there is a page {key!r} already")

    def page(self, key: str) -> QWidget:
        """Return a page, made now if nobody asked for it before.

        Raises:
            KeyError: there is no such page.
        """
        make = self._makers.get(key)
        if make is not None:
            make()
        return self._pages[key]

    def leading_to(self, key: str) -> str:
        """Return the page that leads to a page, itself if none does."""
        return self._within.get(key, key)

    def event(self, event: QEvent) -> bool:
        """Tell of another least width, which nobody but the layout hears of else."""
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            least_px = self.minimumSizeHint().width()
            if least_px != self._least_px:
                self._least_px = least_px
                self.least_width_changed.emit()
        return handled
