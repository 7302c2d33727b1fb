"""Whole numbers as people read them: with the locale's grouping of thousands."""

from __future__ import annotations

__all__ = ["grouped", "percent"]


def grouped(value: int) -> str:
    """Return a number with groups of three digits (21,034).

    The C locale, in which programs run on bare machines, has no grouping; English stands in.
    """
    from PySide6.QtCore import QLocale  # brings the names of 700 languages, scripts and countries

    locale = QLocale()
    if locale.language() == QLocale.Language.C:
        locale = QLocale(QLocale.Language.English)
    locale.setNumberOptions(QLocale.NumberOption.DefaultNumberOptions)
    return locale.toString(value)


def percent(share: float) -> str:
    """Return a share (0 to 1) as whole percent, without the sign."""
    return grouped(round(share * 100))
