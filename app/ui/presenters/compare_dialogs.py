"""The Compare page's two dialogs: which variants are compared, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.ui.compare.chooser import VariantsDialog
from app.ui.compare.options import CompareOptionsDialog
from app.ui.compare.views import VariantChoice
from app.ui.theme import ThemeManager

__all__ = ["ask_options", "ask_variants"]


def ask_variants(
    themes: ThemeManager,
    choices: Sequence[VariantChoice],
    chosen: Sequence[str],
    taken: Callable[[Sequence[str]], None],
    parent: QWidget,
) -> None:
    """Let the user choose variants; ``taken`` gets their paths.

    What is ``chosen`` already stands in the dialog as well where the library does not know it.
    """
    dialog = VariantsDialog(themes, choices, chosen, parent)
    known = {choice.path for choice in choices}
    for path in chosen:
        if path not in known:
            dialog.add_file(path)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.taken.connect(taken)
    dialog.open()


def ask_options(
    themes: ThemeManager,
    options: Mapping[str, Any],
    taken: Callable[[dict[str, Any]], None],
    parent: QWidget,
) -> None:
    """Let the user change what all variants share; ``taken`` gets the changed values by name."""
    dialog = CompareOptionsDialog(themes, options, parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.taken.connect(taken)
    dialog.open()
