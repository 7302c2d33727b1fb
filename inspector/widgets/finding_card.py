"""Findings: what is wrong, what it costs, and buttons that say what they do before they do it."""

from __future__ import annotations

import html
from functools import partial

from PySide6.QtCore import QEvent, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from inspector.plan_record import BUSY
from inspector.views import FindingView, FixView
from inspector.widgets.card import Card
from inspector.widgets.flow import FlowLayout
from inspector.widgets.layer_strip import LayerStrip
from inspector.widgets.palette import Painted, Palette
from inspector.widgets.text import tip, unbroken
from inspector.widgets.wrapped import WrappedText

__all__ = ["Finding", "FindingsCard", "FixButton"]

_TOKENS = {"error": "danger", "warning": "warning", "note": "accent"}
_FILLS = {"error": "danger", "warning": "warning", "note": "notice"}


class FixButton(QPushButton):
    """A fix; says when the reader looks at it."""

    looked_at = Signal()

    def __init__(self, fix: FixView, parent: QWidget | None = None) -> None:
        super().__init__(fix.label.replace("&", "&&"), parent)
        self.fix = fix
        self.setProperty("kind", "small")
        self.setEnabled(fix.key != BUSY)
        self.setToolTip(tip((fix.label, fix.effect)) if fix.effect else "")
        self.setAccessibleName(fix.label)
        self.setAccessibleDescription(fix.effect)

    def event(self, event: QEvent) -> bool:
        """Notice the pointer and the keyboard."""
        if event.type() in {QEvent.Type.Enter, QEvent.Type.FocusIn}:
            self.looked_at.emit()
        return super().event(event)


class Finding(Painted):
    """One finding.

    Signals:
        fix_requested(str finding, str fix): a button was pressed.
    """

    fix_requested = Signal(str, str)

    def __init__(self, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(palette, parent)
        self._view: FindingView | None = None
        self.ground = ""  # a plate whose tint is its severity's
        self.text = QLabel(self)
        self.text.setTextFormat(Qt.TextFormat.RichText)
        self.text.setWordWrap(True)
        self.strip = LayerStrip(palette, self)
        self.fixes = QWidget(self)
        self._flow = FlowLayout(self.fixes, cuts_items=True)
        self.buttons: list[FixButton] = []
        self.effect = WrappedText(palette, self, token="dim")
        self._layout = QVBoxLayout(self)
        for widget in (self.text, self.strip, self.fixes, self.effect):
            self._layout.addWidget(widget)
        self._space()

    @property
    def view(self) -> FindingView | None:
        """What is shown."""
        return self._view

    def set_view(self, view: FindingView) -> None:
        """Show a finding; buttons are kept while the fixes are the same."""
        if view == self._view:
            return
        old, self._view = self._view, view
        self._write()
        self.setAccessibleName(view.headline)
        self.setAccessibleDescription(view.text)
        self.strip.setVisible(view.layers is not None)
        if view.layers is not None:
            self.strip.set_view(view.layers)
        if old is None or old.fixes != view.fixes:
            self._set_fixes(view.fixes)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the tinted plate."""
        if self._view is None:
            return
        theme = self.theme
        stem = _FILLS[self._view.severity]
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour(f"{stem}_line"), 1))
        painter.setBrush(theme.colour(f"{stem}_fill"))
        radius = theme.px(9)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)

    def _write(self) -> None:
        if self._view is None:
            return
        colour = self.theme.css(_TOKENS[self._view.severity])
        head, text = (
            html.escape(unbroken(part)) for part in (self._view.headline, self._view.text)
        )
        self.text.setStyleSheet(f"font-size: {self.theme.pt(12.5)}pt;")
        self.text.setText(f'<span style="color:{colour};font-weight:600">{head}</span> {text}')

    def _set_fixes(self, fixes: tuple[FixView, ...]) -> None:
        had_focus = next((item.fix.key for item in self.buttons if item.hasFocus()), None)
        while (item := self._flow.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.buttons = []
        for fix in fixes:
            button = FixButton(fix, self.fixes)
            button.clicked.connect(partial(self._on_clicked, fix.key))
            button.looked_at.connect(partial(self._show_effect, fix))
            self._flow.addWidget(button)
            self.buttons.append(button)
            button.show()
            if fix.key == had_focus:
                button.setFocus()
        self.fixes.setVisible(bool(fixes))
        self.effect.reserve(tuple(_effect_line(fix) for fix in fixes if fix.effect))
        first = next((fix for fix in fixes if fix.effect), None)
        self.effect.show_text(_effect_line(first) if first else "")

    def _on_clicked(self, key: str, _checked: bool = False) -> None:
        if self._view is not None:
            self.fix_requested.emit(self._view.id, key)

    def _show_effect(self, fix: FixView) -> None:
        if fix.effect:
            self.effect.show_text(_effect_line(fix))

    def _space(self) -> None:
        theme = self.theme
        self._layout.setContentsMargins(theme.px(11), theme.px(9), theme.px(11), theme.px(9))
        self._layout.setSpacing(theme.px(6))
        self._flow.setSpacing(theme.px(6))

    @Slot()
    def _on_theme_changed(self) -> None:
        super()._on_theme_changed()
        self._space()
        self._write()


class FindingsCard(Card):
    """Findings, the worst first; hidden when there is nothing to say.

    Signals:
        fix_requested(str finding, str fix): a button was pressed.
    """

    fix_requested = Signal(str, str)

    def __init__(
        self, palette: Palette, parent: QWidget | None = None, key: str = "findings"
    ) -> None:
        super().__init__(palette, key, parent=parent)
        self.findings: list[Finding] = []

    def set_views(self, views: tuple[FindingView, ...]) -> None:
        """Show findings; one that stays is kept in place with its buttons and the keyboard."""
        kept = {item.view.id: item for item in self.findings if item.view is not None}
        wanted = []
        for view in views:
            finding = kept.pop(view.id, None)
            if finding is None:
                finding = Finding(self._palette, self.body)
                finding.fix_requested.connect(self.fix_requested)
            finding.set_view(view)
            wanted.append(finding)
        for finding in kept.values():
            self.rows.removeWidget(finding)
            finding.hide()
            finding.deleteLater()
        if wanted != self.findings:
            for place, finding in enumerate(wanted):
                self.rows.insertWidget(place, finding)
                finding.show()
            self.findings = wanted
        self.setVisible(bool(views))


def _effect_line(fix: FixView) -> str:
    return f"{fix.label}: {fix.effect}"
