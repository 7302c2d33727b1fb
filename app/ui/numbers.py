"""Numbers, dates and times as people read them, in the manner of their locale."""

from __future__ import annotations

__all__ = ["grouped", "moment", "numbered", "percent"]


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


def moment(at_ms: int) -> str:
    """Return a date with its time of day; ``at_ms`` are milliseconds since 1970, UTC.

    The C locale's short form has no signs between its figures (30 11 2026 06:59); there it is
    written as other dates in the window are.
    """
    from PySide6.QtCore import QDateTime, QLocale

    locale, when = QLocale(), QDateTime.fromMSecsSinceEpoch(at_ms)
    if locale.language() == QLocale.Language.C:
        return locale.toString(when, "d MMM yyyy, HH:mm")
    return locale.toString(when, QLocale.FormatType.ShortFormat)


def percent(share: float) -> str:
    """Return a share (0 to 1) as whole percent, without the sign."""
    return grouped(round(share * 100))


def numbered(count: int, one: str, many: str) -> str:
    """Return the words for a count: ``one`` for 1, else ``many``, in which %n is the number.

    So `tr()` takes two whole sentences, and no text reads "1 tokens".
    """
    return one if count == 1 else many.replace("%n", grouped(count))
