"""What all variants of a comparison share, as a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QVBoxLayout,
    QWidget,
)

from app.settings import Scope, Setting, declared
from app.ui.dialogs.buttons import DialogButtons
from app.ui.dialogs.form import SettingsForm
from app.ui.dialogs.sizes import open_size
from app.ui.page_area import PageArea
from app.ui.theme import ThemeManager

__all__ = ["COMPARE_SETTINGS", "CompareOptionsDialog", "default_options"]

_ANSWER: Final = "Reply"
_MEMORY: Final = "Memory"
_RUN: Final = "Run"
_QUALITY: Final = "Quality"


def _own(
    key: str, group: str, label: str, text: str, kind: Any, default: Any, **more: Any
) -> Setting:
    return Setting(key, "app", group, label, text, kind, default, "now", **more)


def _same_as(scope: Scope, key: str, group: str, default: Any, **more: Any) -> Setting:
    """Return a setting of the program with another default and place."""
    known = declared(scope, key)
    return Setting(
        key,
        known.scope,
        group,
        known.label,
        known.help,
        known.kind,
        default,
        "now",
        choices=known.choices,
        minimum=known.minimum,
        maximum=known.maximum,
        step=known.step,
        unit=known.unit,
        none_label=known.none_label,
        **more,
    )


COMPARE_SETTINGS: Final = (
    _own(
        "system",
        _ANSWER,
        "System prompt",
        "What all variants are told first; empty for none.",
        "text",
        "",
    ),
    _same_as("sampling", "temperature", _ANSWER, 0.0),
    _own(
        "seed",
        _ANSWER,
        "Seed",
        "Start of the random draws, the same for all variants. Without effect at temperature 0.",
        "int",
        1,
        minimum=0,
        maximum=4_294_967_294,
        step=1,
    ),
    _own(
        "max_tokens",
        _ANSWER,
        "Longest reply",
        "Replies are cut there.",
        "int",
        200,
        minimum=8,
        maximum=8192,
        step=8,
        unit="tokens",
    ),
    _same_as("load", "n_ctx", _MEMORY, None),
    _own(
        "kv_type",
        _MEMORY,
        "KV cache type",
        "Of keys and values, the same for all variants.",
        "choice",
        "f16",
        choices=declared("load", "type_k").choices,
    ),
    _same_as("load", "gpu_layers", _MEMORY, -1),
    _same_as("load", "threads", _MEMORY, None),
    _own(
        "together",
        _RUN,
        "All at once",
        "Load all variants together, if they fit, and let them answer at the same time. They share "
        "bandwidth then, and their rates are marked as shared.",
        "bool",
        False,
    ),
    _own(
        "measure_rates",
        _RUN,
        "Measure rates apart",
        "After the reply, prefill and decode are measured at the same depth for all variants, a "
        "few seconds each. Without it rates are those of the replies.",
        "bool",
        True,
    ),
    _own(
        "quality",
        _QUALITY,
        "Measure quality",
        "Each variant reads the same text; how well it foresees it, and how far its expectations "
        "are from the reference's, is measured.",
        "bool",
        True,
    ),
    _own(
        "text_path",
        _QUALITY,
        "Text",
        "A text file to measure quality on; a public-domain text is built in.",
        "text",
        None,
        none_label="built in",
    ),
    _own(
        "text_tokens",
        _QUALITY,
        "Length of the text",
        "More tokens make the error bars smaller and take longer.",
        "int",
        2048,
        minimum=512,
        maximum=65_536,
        step=512,
        unit="tokens",
    ),
)


def default_options() -> dict[str, Any]:
    """Return the defaults."""
    return {setting.key: setting.default for setting in COMPARE_SETTINGS}


class CompareOptionsDialog(QDialog):
    """The form with a button that takes it.

    Signals:
        taken(dict): values of all settings.
    """

    taken = Signal(object)

    def __init__(
        self, themes: ThemeManager, values: Mapping[str, Any], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Compare: what all variants share"))
        theme = themes.theme
        self.form = SettingsForm(COMPARE_SETTINGS, themes, self, fold_advanced=False)
        self.form.set_values(values)
        self.form.validity_changed.connect(self._on_validity)
        page = QWidget(self)
        inner = QVBoxLayout(page)
        inner.setContentsMargins(0, 0, theme.px(12), 0)
        inner.addWidget(self.form)
        area = PageArea(page, self, sideways=True)
        buttons = DialogButtons(self)
        buttons.other(self.tr("Reset all")).clicked.connect(self.form.reset_all)
        self._take = buttons.main(self.tr("Use"))
        self._take.clicked.connect(self._on_take)
        buttons.cancel()
        column = QVBoxLayout(self)
        side = theme.px(18)
        column.setContentsMargins(side, side, side, side)
        column.setSpacing(theme.px(12))
        column.addWidget(area, 1)
        column.addWidget(buttons)
        open_size(self, theme, 560, 640)

    @Slot(bool)
    def _on_validity(self, valid: bool) -> None:
        self._take.setEnabled(valid)

    @Slot()
    def _on_take(self) -> None:
        if self.form.is_valid():
            self.taken.emit(self.form.values())
            self.accept()
