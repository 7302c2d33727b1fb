"""The window's one style sheet, made from a theme's tokens.

Rules address kinds (a dynamic property ``kind``) and a few object names, so a widget says what
it is and never how it looks. Sizes are written as design pixels and scaled by the theme.
"""

from __future__ import annotations

import re
from typing import Protocol

__all__ = ["stylesheet"]


class _Tokens(Protocol):
    def css(self, token: str) -> str: ...

    def px(self, value: float) -> int: ...

    def pt(self, value: float) -> float: ...


# ${token} is a colour, @12px@ a length, @13.5pt@ a font size (of so many design pixels).
_SHEET = """
* { outline: none; }
QWidget { color: ${ink}; }
QMainWindow, QDialog { background: ${background}; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QToolTip {
  background: ${raised}; color: ${ink}; border: 1px solid ${line_strong};
  padding: @5px@ @8px@; font-size: @12.5pt@;
}

QLabel { background: transparent; }
QLabel[kind="dim"] { color: ${dim}; }
QLabel[kind="faint"] { color: ${faint}; font-size: @12pt@; }
QLabel[kind="figures"] { color: ${dim}; font-size: @11pt@; }
QLabel[kind="small"] { color: ${dim}; font-size: @12pt@; }
QLabel[kind="strong"] { font-weight: 600; }
QLabel[kind="title"] { font-size: @22pt@; font-weight: 600; }
QLabel[kind="heading"] { font-size: @15.5pt@; font-weight: 600; }
QLabel[kind="caps"] { color: ${faint}; font-size: @11pt@; }
QLabel[kind="error"] { color: ${danger}; font-size: @12pt@; }
QLabel[kind="tag"] {
  color: ${dim}; border: 1px solid ${line}; border-radius: @5px@;
  padding: 0 @6px@; font-size: @11.5pt@;
}

QPushButton {
  background: ${raised}; color: ${ink}; border: 1px solid ${line};
  border-radius: @8px@; padding: @5px@ @12px@;
}
QPushButton:hover { background: ${raised_hover}; border-color: ${line_strong}; }
QPushButton:pressed { background: ${pressed}; }
QPushButton:focus { border-color: ${accent}; }
QPushButton:disabled { color: ${faint}; background: ${panel}; }
QPushButton[kind="primary"] {
  background: ${accent_fill}; color: ${on_accent}; border: 1px solid ${accent_fill};
  font-weight: 600; padding: @6px@ @12px@;
}
QPushButton[kind="primary"]:hover {
  background: ${accent_fill_hover}; border-color: ${accent_fill_hover};
}
QPushButton[kind="primary"]:focus { border-color: ${ink}; }
QPushButton[kind="primary"]:disabled {
  background: ${panel}; color: ${faint}; border-color: ${line};
}
QPushButton[kind="ink"] {
  background: ${ink}; color: ${on_ink}; border: 1px solid ${ink};
  font-weight: 600; padding: @3px@ @12px@;
}
QPushButton[kind="ink"]:hover { background: ${ink_hover}; border-color: ${ink_hover}; }
QPushButton[kind="ink"]:focus { border: 1px solid ${accent}; }
QPushButton[kind="ink"]:disabled {
  background: ${pressed}; color: ${dim}; border-color: ${pressed};
}
QPushButton[kind="small"] { border-radius: @6px@; padding: @2px@ @9px@; font-size: @12pt@; }
QPushButton[look="primary"] {
  background: ${accent_fill}; color: ${on_accent}; border-color: ${accent_fill};
}
QPushButton[look="primary"]:hover {
  background: ${accent_fill_hover}; border-color: ${accent_fill_hover};
}
QPushButton[look="danger"], QPushButton[kind="danger"] { color: ${danger}; }
QPushButton[kind="flat"], QToolButton[kind="flat"] {
  background: transparent; border: 1px solid transparent; color: ${dim};
  border-radius: @6px@; padding: @2px@ @6px@;
}
QPushButton[kind="flat"]:hover, QToolButton[kind="flat"]:hover {
  background: ${raised_hover}; color: ${ink};
}
QPushButton[kind="flat"]:focus, QToolButton[kind="flat"]:focus { border-color: ${accent}; }
QPushButton[kind="flat"]:disabled, QToolButton[kind="flat"]:disabled { color: ${faint}; }
QToolButton[kind="flat"]::menu-indicator { image: none; width: 0; }
QPushButton[kind="nav"] {
  background: transparent; border: 1px solid transparent; color: ${dim};
  border-radius: @7px@; padding: @5px@ @7px@; text-align: left;
}
QPushButton[kind="nav"][centred="true"] { text-align: center; }
QPushButton[kind="nav"]:hover { background: ${hover}; }
QPushButton[kind="nav"]:checked { background: ${raised}; color: ${ink}; }
QPushButton[kind="nav"]:focus { border-color: ${accent}; }
QPushButton[kind="link"] {
  background: transparent; border: 1px solid transparent; color: ${accent};
  padding: 0 @2px@; text-align: left; border-radius: @4px@;
}
QPushButton[kind="link"]:hover { text-decoration: underline; }
QPushButton[kind="link"]:focus { border-color: ${accent}; }

QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox, QPlainTextEdit, QTextEdit, QListWidget {
  background: ${background}; color: ${ink}; border: 1px solid ${line};
  border-radius: @8px@; padding: @5px@ @9px@;
  selection-background-color: ${selection}; selection-color: ${ink};
  placeholder-text-color: ${faint};
}
QLineEdit:hover, QSpinBox:hover, QDoubleSpinBox:hover, QComboBox:hover {
  border-color: ${line_strong};
}
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus, QPlainTextEdit:focus,
QTextEdit:focus, QListWidget:focus { border-color: ${accent}; }
QLineEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled, QComboBox:disabled {
  color: ${faint}; background: ${panel};
}
QLineEdit[invalid="true"], QSpinBox[invalid="true"], QDoubleSpinBox[invalid="true"],
QPlainTextEdit[invalid="true"] { border-color: ${danger}; }
QPlainTextEdit[kind="bare"], QTextEdit[kind="bare"] {
  background: transparent; border: none; padding: 0;
}
QSpinBox, QDoubleSpinBox { padding-right: @4px@; }
QSpinBox::up-button, QSpinBox::down-button, QDoubleSpinBox::up-button,
QDoubleSpinBox::down-button { width: 0; border: none; }
QComboBox::drop-down { border: none; width: @22px@; }
QComboBox::down-arrow { image: url("${icon:chevron-down}"); width: @12px@; height: @12px@; }
QComboBox QAbstractItemView {
  background: ${raised}; border: 1px solid ${line_strong}; padding: @4px@;
  selection-background-color: ${selection}; selection-color: ${ink};
}
QCheckBox { spacing: @8px@; border: 1px solid transparent; border-radius: @4px@; padding: @2px@ 0; }
QCheckBox:focus { border-color: ${accent}; }
QCheckBox::indicator {
  width: @16px@; height: @16px@; border: 1px solid ${line_strong}; border-radius: @4px@;
  background: ${background};
}
QCheckBox::indicator:hover { border-color: ${accent}; }
QCheckBox::indicator:checked {
  background: ${accent_fill}; border-color: ${accent_fill}; image: url("${icon:check}");
}

QSlider::groove:horizontal { background: ${well}; height: @4px@; border-radius: @2px@; }
QSlider::sub-page:horizontal { background: ${accent}; height: @4px@; border-radius: @2px@; }
QSlider[mirrored="true"]::sub-page:horizontal { background: ${well}; }
QSlider[mirrored="true"]::add-page:horizontal {
  background: ${accent}; height: @4px@; border-radius: @2px@;
}
QSlider::handle:horizontal {
  background: ${ink}; width: @12px@; height: @12px@; margin: -@4px@ 0; border-radius: @5.5px@;
}
QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus { background: ${accent}; }

QMenu {
  background: ${raised}; border: 1px solid ${line_strong}; border-radius: @8px@; padding: @5px@;
}
QMenu::item { padding: @5px@ @24px@ @5px@ @12px@; border-radius: @5px@; }
QMenu::item:selected { background: ${selection}; }
QMenu::item:disabled { color: ${faint}; }
QMenu::separator { height: 1px; background: ${line}; margin: @5px@ @8px@; }
QMenu::icon { padding-left: @8px@; }

QListWidget::item { padding: @6px@ @8px@; border-radius: @6px@; color: ${dim}; }
QListWidget::item:hover { background: ${hover}; }
QListWidget::item:selected { background: ${raised}; color: ${ink}; }
QListWidget#groups::item:selected { background: ${pressed}; }
QListWidget#groups { background: transparent; border: none; padding: 0; }
QListWidget#groups::item { border: 1px solid transparent; }
QListWidget#groups::item:focus { border-color: ${accent}; }
QTreeWidget {
  background: ${background}; color: ${ink}; border: 1px solid ${line}; border-radius: @8px@;
  padding: @4px@;
}
QTreeWidget:focus { border-color: ${accent}; }
QTreeWidget::item { padding: @4px@ @2px@; }
QTreeWidget::indicator {
  width: @16px@; height: @16px@; border: 1px solid ${line_strong}; border-radius: @4px@;
  background: ${background};
}
QTreeWidget::indicator:checked {
  background: ${accent_fill}; border-color: ${accent_fill}; image: url("${icon:check}");
}
QScrollArea[kind="plain"], QScrollArea[kind="plain"] > QWidget > QWidget {
  background: transparent;
}
QScrollArea[kind="reading"] {
  background: transparent; border: 1px solid transparent; border-radius: @6px@;
}
QScrollArea[kind="reading"] > QWidget > QWidget { background: transparent; }
QScrollArea[kind="reading"]:focus { border-color: ${accent}; }
QListView[kind="plain"], QTreeView[kind="plain"] { background: transparent; border: none; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: @10px@; margin: 0; }
QScrollBar:horizontal { background: transparent; height: @10px@; margin: 0; }
QScrollBar::handle { background: ${line_strong}; border-radius: @3px@; margin: @2px@; }
QScrollBar::handle:vertical { min-height: @28px@; }
QScrollBar::handle:horizontal { min-width: @28px@; }
QScrollBar::handle:hover { background: ${faint}; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QSplitter::handle { background: ${line}; }
QMenuBar { background: ${panel}; border-bottom: 1px solid ${line}; }
QMenuBar::item { padding: @4px@ @8px@; background: transparent; }
QMenuBar::item:selected { background: ${raised}; }
QProgressBar {
  background: ${well}; border: none; border-radius: @3px@;
  min-height: @6px@; max-height: @6px@;
}
QProgressBar::chunk { background: ${accent}; border-radius: @3px@; }

#header, #statusLine, #sidebar, #inspectorSlot { background: ${panel}; }
#header { border-bottom: 1px solid ${line}; }
#statusLine { border-top: 1px solid ${line}; }
#statusLine QLabel { color: ${dim}; font-size: @12pt@; }
#sidebar { border-right: 1px solid ${line}; }
#inspectorSlot { border-left: 1px solid ${line}; }
#productName { font-weight: 600; }

#composer { background: ${raised}; border: 1px solid ${line}; border-radius: @12px@; }
#composer QPushButton[kind="flat"] { font-size: @12pt@; }
#composer[focused="true"] { border-color: ${line_strong}; }
#composer[dropping="true"] { border-color: ${accent}; }
#pill, QToolButton#pill, QPushButton#pill {
  background: ${raised}; border: 1px solid ${line}; border-radius: @8px@; padding: @4px@ @10px@;
}
QPushButton#pill[quiet="true"] { color: ${dim}; }
#pill:hover { background: ${raised_hover}; border-color: ${line_strong}; }
#pill:focus { border-color: ${accent}; }
#chip { background: ${panel}; border: 1px solid ${line}; border-radius: @7px@; }
#popup { background: ${panel}; border: 1px solid ${line_strong}; border-radius: @12px@; }
#card { background: ${panel}; border: 1px solid ${line}; border-radius: @12px@; }
#bar { background: ${notice_fill}; border: 1px solid ${notice_line}; border-radius: @9px@; }
#bar[severity="warning"] { background: ${warning_fill}; border-color: ${warning_line}; }
#bar[severity="error"] { background: ${danger_fill}; border-color: ${danger_line}; }
#toast { background: ${raised}; border: 1px solid ${line_strong}; border-radius: @9px@; }
#rule { background: ${line}; border: none; }
"""

_PLACE = re.compile(r"\$\{(icon:)?([\w-]+)\}|@([\d.]+)(px|pt)@")


def stylesheet(theme: _Tokens, icon_url: dict[str, str] | None = None) -> str:
    """Return the style sheet of a theme. ``icon_url`` gives files for the few drawn marks."""
    urls = icon_url or {}

    def fill(match: re.Match[str]) -> str:
        icon, name, length, unit = match.groups()
        if icon:
            return urls.get(name, "")
        if name:
            return theme.css(name)
        value = float(length)
        return f"{theme.px(value)}px" if unit == "px" else f"{theme.pt(value)}pt"

    return _PLACE.sub(fill, _SHEET)
