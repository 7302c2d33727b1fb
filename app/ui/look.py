"""Properties that style sheets match: Qt looks at them again only when it is asked to."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

__all__ = ["set_look"]


def set_look(widget: QWidget, name: str, value: object) -> None:
    """Set a property that rules of the style sheet match, and apply them anew."""
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)
