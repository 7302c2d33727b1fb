from __future__ import annotations

import json

import msgspec
import pytest

from inspector.compare.records import ComparisonSettings, Estimate
from inspector.compare.report import (
    HEADS,
    comparison_as_json,
    comparison_as_markdown,
    estimate_text,
    read_words,
)
from inspector.compare.statistics import quality_of
from inspector.compare.table import variant_rows
from tests.inspector.compare.samples import DIFFERENCE, GIB, comparison, variant


@pytest.mark.parametrize(
    ("estimate", "style", "text"),
    [
        (Estimate(value=12.345, error=0.5), ".2f", "12.35 ± 0.50"),
        (Estimate(value=0.987, error=0.012), ".1%", "98.7\xa0% ± 1.2\xa0%"),
        (Estimate(value=9.015e303, error=1.5e302), ".2f", "9.01e303 ± 1.50e302"),
        (None, ".2f", ""),
    ],
)
def test_a_figure_with_its_error(estimate: Estimate | None, style: str, text: str) -> None:
    assert estimate_text(estimate, style) == text


def test_markdown_holds_the_table_the_answers_and_the_places() -> None:
    text = comparison_as_markdown(comparison())
    assert text.startswith("# Model 8B: Q4_K_M, Q8_0, Q2_K: compared")
    assert "| " + " | ".join(HEADS) + " |" in text
    assert "| Q4_K_M | 4.00 GiB | 4.00 | 4.29 GB |" in text
    assert "2.00× | 1.90× |" in text
    assert "Q8_0 (reference)" in text
    assert "Q2_K (requantised from Q8_0) (failed)" in text
    assert "0.20000 ± " in text
    assert "> Why | so?" in text
    assert "> Answer of Q4_K_M." in text
    assert "Failed: The engine was killed" in text
    assert "standard errors" in text
    assert "## Memory of each engine" in text


def test_text_of_models_is_no_markup() -> None:
    """Cells stay cells, whatever a model or a text says."""
    text = comparison_as_markdown(comparison())
    row = next(line for line in text.splitlines() if "**fair**" in line)
    assert row.replace("\\|", "").count("|") == 5
    assert "\\*foul\\*" in row


def test_json_holds_everything() -> None:
    values = json.loads(json.dumps(comparison_as_json(comparison())))
    assert values["reference"] == "Q8_0"
    row = values["rows"][0]
    assert row["ratio_predicted"] == 2.0
    assert row["mean_kl"]["value"] > 0
    assert row["mean_kl"]["error"] > 0
    assert values["rows"][2]["decode_per_s"] is None
    assert values["record"]["settings"]["prompt"] == "Why | so?"
    assert values["record"]["variants"][0]["quality"]["worst"][0]["token"] == "fair"
    assert values["memory_returns"][0]["before_bytes"] == 30 << 20


def test_a_report_without_quality_memory_and_answers() -> None:
    bare = variant("Q8_0", 8 * GIB, 10.0, answer="", quality=None)
    text = comparison_as_markdown(comparison(variants=(bare,), reference=0, memory=()))
    assert "standard errors" not in text
    assert "## Memory of each engine" not in text
    assert "## Q8_0" not in text
    assert "| Q8_0 (reference) |" in text


def test_an_answer_of_one_token_has_no_rate() -> None:
    one = variant("Q8_0", 8 * GIB, 10.0)
    assert one.stats is not None
    short = msgspec.structs.replace(
        one, stats=msgspec.structs.replace(one.stats, reply_tokens=1), decode=None
    )
    text = comparison_as_markdown(comparison(variants=(short,), reference=0))
    assert "1 token, first one after 0.25 s." in text


def test_a_variant_has_one_decode_rate_wherever_it_is_told() -> None:
    """The answer's own rate, with another prompt and depth, is not told beside the test's."""
    item = variant("Q8_0", 8 * GIB, 72.0)
    assert item.stats is not None
    own = msgspec.structs.replace(item.stats, decode_s=40 / 44.2)
    record = comparison(variants=(msgspec.structs.replace(item, stats=own),), reference=0)
    (row,) = variant_rows(record)
    text = comparison_as_markdown(record)
    assert row.decode_per_s == 72.0
    assert "41 tokens, first one after 0.25 s, decode 72.0 tok/s." in text
    assert "44.2" not in text


def test_one_chunk_is_no_plural() -> None:
    item = variant("Q8_0", 8 * GIB, 72.0, quality=quality_of([2.0] * 4, text_bytes=12, chunks=1))
    assert "in 1 chunk of " in comparison_as_markdown(comparison(variants=(item,), reference=0))


def test_bytes_a_token_without_the_cache_are_said_to_be_the_weights() -> None:
    """What was stopped before its plan and what was finished are not one figure."""
    item = variant("Q8_0", 8 * GIB, 72.0)
    stopped = msgspec.structs.replace(item, status="waiting", decode=None, prefill=None, stats=None)
    (whole,) = variant_rows(comparison(variants=(item,), reference=0))
    (alone,) = variant_rows(comparison(variants=(stopped,), reference=0))
    assert read_words(whole) == "8.59 GB"
    assert read_words(alone) == "8.59 GB (weights)"


def test_a_comparison_that_gave_no_figures() -> None:
    failed = variant(
        "Q2_K", 2 * GIB, 1.0, status="failed", failure="It was killed.", stats=None, decode=None,
        prefill=None, answer="",
    )  # fmt: skip
    text = comparison_as_markdown(comparison(variants=(failed,), reference=0, memory=()))
    assert "Failed: It was killed." in text
    assert "tok/s" not in text.partition("## Q2_K")[2]


def test_quality_that_was_measured_without_its_reference() -> None:
    alone = variant("Q4_K_M", 4 * GIB, 19.0, quality=quality_of([1.0, 2.0, 3.0], chunks=1))
    failed = variant("Q8_0", 8 * GIB, 10.0, status="failed", quality=None)
    text = comparison_as_markdown(comparison(variants=(alone, failed), reference=1, memory=()))
    row = next(line for line in text.partition("## Quality")[2].splitlines() if "Q4_K_M" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    # e to the mean of 1, 2 and 3; nothing to diverge from.
    assert cells == ["Q4_K_M", "7.389 ± 4.266", "", ""]


def test_it_says_how_the_variants_ran_and_with_what() -> None:
    alone = comparison(settings=ComparisonSettings(prompt="x", seed=7, max_tokens=40))
    text = comparison_as_markdown(alone)
    assert "\nRan one after another.\n" in text
    assert "seed 7, at most 40 tokens" in text
    together = comparison(settings=ComparisonSettings(prompt="x", seed=None, together=True))
    text = comparison_as_markdown(together)
    assert "\nRan together, sharing bandwidth.\n" in text
    assert "seed none" in text


def test_a_token_of_white_space_can_be_seen() -> None:
    worst = msgspec.structs.replace(DIFFERENCE, token="\n\n", top=" ")
    quality = msgspec.structs.replace(
        quality_of([1.0, 2.0], kl=[0.1, 0.2], same_top=[True, False]), worst=(worst,)
    )
    record = comparison(variants=(variant("Q4_0", 4 * GIB, 20.0, quality=quality),), reference=0)
    text = comparison_as_markdown(record)
    assert "\\\\n\\\\n" in text
