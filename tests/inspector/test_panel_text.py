"""The panel's figures as text."""

from __future__ import annotations

from inspector.panel_text import panel_as_markdown
from inspector.views import PanelView
from tests.helpers.panel_samples import CPU, OVER, SPLIT


def test_every_card_is_there_with_how_it_is_known() -> None:
    text = panel_as_markdown(SPLIT)
    assert "| Weights | 7.20 GiB | engine |" in text
    assert "410 MiB above the load line of 90\u00a0%." in text
    assert "- **7 of 33 layers run from system RAM.**" in text
    assert "- 21,034 of 32,768 tokens take 2.57 GiB" in text
    assert "| decode | 31.2 tok/s | 31 – 35 | 76.0 tok/s | 41\u00a0% |" in text
    assert "First token after 240 ms (measured)." in text
    assert text.endswith("\n")
    assert "\n\n\n" not in text


def test_each_device_has_a_table() -> None:
    text = panel_as_markdown(OVER)
    assert text.count("### Memory of ") == 2
    assert "capacity unknown" in text
    assert "### Memory of " in panel_as_markdown(CPU)


def test_an_empty_panel_is_empty() -> None:
    assert panel_as_markdown(PanelView()) == ""


def test_what_is_replayed_and_how_it_was_known_stand_in_one_line() -> None:
    view = PanelView(recorded="Recorded turn of 1 May 2026, 12:00", notice="Measured then.")
    assert panel_as_markdown(view) == "Recorded turn of 1 May 2026, 12:00 Measured then.\n"
    assert panel_as_markdown(PanelView(notice="Planned.")) == "Planned.\n"


def test_a_memory_is_a_table_of_its_parts() -> None:
    lines = panel_as_markdown(CPU).splitlines()
    (head,) = [index for index, line in enumerate(lines) if line.startswith("### Memory of ")]
    assert lines[head + 1 : head + 4] == [
        "",
        "| part | size | how it is known | plan |",
        "|---|---:|---|---:|",
    ]
    parts = [line.split(" | ")[0].removeprefix("| ") for line in lines[head + 4 :]]
    wanted = [item.kind for item in CPU.budgets[0].segments]
    assert len(wanted) > 2
    assert parts[: len(wanted)] == [
        {
            "weights": "Weights",
            "kv_used": "KV cache, in use",
            "kv_reserved": "KV cache, reserved",
            "compute": "Compute and overhead",
            "draft": "Draft model",
            "other_programs": "Other programs",
            "free": "Free",
        }[kind]
        for kind in wanted
    ]
