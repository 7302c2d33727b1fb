"""The panel's cards as pictures, for reports: the budget's bar, the cache's growth, the speed."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.views import PanelView
from inspector.widgets.budget_card import BudgetCard
from inspector.widgets.card import Card
from inspector.widgets.growth_card import GrowthCard
from inspector.widgets.palette import Palette
from inspector.widgets.plot_slot import PlotLoader
from inspector.widgets.speed_card import SpeedCard

__all__ = ["Picture", "save_pictures"]

_WIDTH_PX: Final = 420
_PLOTS: Final = ("inspector.widgets.plots.growth", "inspector.widgets.plots.depth")


@dataclass(frozen=True, slots=True)
class Picture:
    """A file beside a report, and what it shows."""

    name: str
    caption: str


def save_pictures(
    palette: Palette, view: PanelView, folder: Path, stem: str
) -> tuple[Picture, ...]:
    """Draw the cards of a view that have something to show into PNG files of a folder.

    Raises:
        OSError: a file can't be written.
    """
    for module in _PLOTS:
        importlib.import_module(module)
    loader = PlotLoader()
    found = []
    for kind, caption, card in _cards(palette, loader, view):
        name = f"{stem}-{kind}.png"
        _save(palette, card, folder / name)
        found.append(Picture(name, caption))
    return tuple(found)


def _cards(palette: Palette, loader: PlotLoader, view: PanelView) -> list[tuple[str, str, Card]]:
    cards: list[tuple[str, str, Card]] = []
    if view.budgets:
        budget = BudgetCard(palette)
        budget.set_views(view.budgets, view.layers if _is_shared(view) else None)
        cards.append(("budget", "Memory budget", budget))
    if view.growth is not None:
        growth = GrowthCard(palette, loader)
        growth.set_view(view.growth)
        cards.append(("growth", "KV cache growth", growth))
    if view.speed is not None:
        speed = SpeedCard(palette, loader)
        speed.set_view(view.speed)
        cards.append(("speed", "Speed, measured beside predicted", speed))
    return cards


def _is_shared(view: PanelView) -> bool:
    layers = view.layers
    return layers is not None and len({item.device for item in layers.layers}) > 1


def _save(palette: Palette, card: Card, path: Path) -> None:
    theme = palette.theme
    frame = QWidget()
    frame.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
    frame.setObjectName("picture")
    frame.setStyleSheet(f"#picture {{ background: {theme.css('panel')}; }}")
    rows = QVBoxLayout(frame)
    rows.setContentsMargins(*(theme.px(14),) * 4)
    rows.addWidget(card)
    card.set_last(True)
    width = theme.px(_WIDTH_PX)
    frame.resize(width, theme.px(400))
    frame.show()
    for _ in range(4):
        QCoreApplication.processEvents()
        frame.resize(width, max(frame.heightForWidth(width), 1))
    try:
        if not frame.grab().save(str(path)):
            raise OSError(f"{path.name} can't be written")
    finally:
        frame.close()
        frame.deleteLater()
