from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.ui.shell.status_line import StatusLine
from app.ui.shell.views import Segment, StatusFacts
from app.ui.theme import ThemeManager

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

FACTS = StatusFacts(
    (Segment("CPU · 8 cores"), Segment("KV f16", "Type of the cache")),
    (Segment("Engine running · pid 1"),),
)


@pytest.fixture
def line(qtbot: QtBot, themes: ThemeManager) -> StatusLine:
    line = StatusLine(themes)
    qtbot.addWidget(line)
    line.resize(900, 26)
    line.show()
    line.set_facts(FACTS)
    return line


def test_segments_are_shown_in_order(line: StatusLine) -> None:
    assert line.texts() == ["CPU · 8 cores", "KV f16", "Engine running · pid 1"]
    assert line._labels[1].toolTip() == "Type of the cache"


def test_labels_are_kept_while_their_number_is_the_same(line: StatusLine) -> None:
    labels = list(line._labels)
    line.set_facts(StatusFacts(FACTS.left, (Segment("Engine stopped", severity="error"),)))
    assert line._labels == labels
    assert line.texts()[-1] == "Engine stopped"
    line.set_facts(StatusFacts())
    assert line.texts() == []


def test_trouble_has_its_colour(line: StatusLine, themes: ThemeManager) -> None:
    line.set_facts(StatusFacts((), (Segment("Engine stopped", severity="error"),)))
    assert themes.theme.css("danger") in line._labels[0].styleSheet()
    themes.set_mode("light")
    assert themes.theme.css("danger") in line._labels[0].styleSheet()


def test_a_narrow_window_shortens_segments(qtbot: QtBot, line: StatusLine) -> None:
    line.resize(200, 26)
    qtbot.waitUntil(lambda: any(label.is_elided() for label in line._labels))
    assert line._labels[-1].geometry().right() <= 200


LONG = StatusFacts(
    (
        Segment("CPU · AMD Ryzen 9 7950X · 64 GB/s", "b1", short="Ryzen 9 · 64 GB/s"),
        Segment("16 threads", "for decode"),
        Segment("Compatibility mode", severity="warning", short="Compatibility"),
        Segment("Flash attention on", short="Flash on"),
        Segment("KV f16"),
    ),
    (Segment("Engine ready · pid 12345", short="Engine ready"),),
)


def _shown(line: StatusLine) -> list[str]:
    """Return what is read once it is laid out."""
    layout = line.layout()
    assert layout is not None
    layout.activate()
    return line.shown_texts()


def _width(line: StatusLine, *texts: str) -> int:
    """Return the width at which texts just have room."""
    margins = line._row.contentsMargins()
    room = sum(line._labels[0].fontMetrics().horizontalAdvance(text) for text in texts)
    return room + len(texts) * line._row.spacing() + margins.left() + margins.right()


@pytest.mark.parametrize("percent", [100, 160])
def test_where_room_is_scarce_less_is_said_and_nothing_cut(
    qtbot: QtBot, line: StatusLine, themes: ThemeManager, percent: int
) -> None:
    themes.set_text_size(percent)
    line.set_facts(LONG)
    full = [segment.text for segment in (*LONG.left, *LONG.right)]
    brief = [segment.short or segment.text for segment in (*LONG.left, *LONG.right)]
    for texts in (
        full,
        [*full[:5], brief[5]],
        [brief[0], *full[1:5], brief[5]],
        brief,
        [*brief[:4], brief[5]],
        [*brief[:3], brief[5]],
    ):
        line.resize(_width(line, *texts), 26)
        assert _shown(line) == texts
        line.resize(_width(line, *texts) - 1, 26)
        assert len("".join(_shown(line))) < len("".join(texts))
    least = [brief[0], brief[2], brief[5]]
    line.resize(_width(line, *least), 26)
    assert _shown(line) == least
    line.resize(_width(line, *least) - 40, 26)  # only then is a text cut
    assert any("…" in text for text in _shown(line))
    tip = line._labels[0].toolTip().splitlines()
    assert tip[-3:] == ["16 threads", "Flash attention on", "KV f16"]
    assert full[0] in tip
    assert line.texts() == full
    assert [label.accessibleName() for label in line._labels] == full
    line.resize(_width(line, *full), 26)
    assert line._labels[0].toolTip() == "b1"


def test_larger_text_has_fewer_words_at_once(line: StatusLine, themes: ThemeManager) -> None:
    line.set_facts(LONG)
    texts = [segment.text for segment in (*LONG.left, *LONG.right)]
    line.resize(_width(line, *texts), 26)
    assert _shown(line) == texts
    themes.set_text_size(160)
    assert _shown(line)[-1] == "Engine ready"
    assert not any(label.is_elided() for label in line._labels if not label.isHidden())
    themes.set_text_size(100)
    assert _shown(line) == texts
