from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gguf_tools.plan import Plan
from inspector.compare.records import (
    ComparisonSettings,
    VariantRecord,
    decode_comparison,
    encode_comparison,
)
from inspector.compare.table import memory_returns, sentences, variant_rows
from inspector.session import Session
from tests.inspector.compare.samples import GIB, MIB, comparison, steps, variant
from tests.inspector.conftest import loaded


def test_rows_put_measured_beside_predicted() -> None:
    half, reference, failed = variant_rows(comparison())
    assert half.ratio_predicted == 2.0
    assert half.ratio_measured == 1.9
    assert half.decode_per_s == 19.0
    assert half.decode_spread == pytest.approx(0.38)
    assert half.efficiency == pytest.approx(0.8)
    assert half.prefill_per_s == 305.0
    assert half.bytes_per_token == 4 * GIB
    assert half.depth_tokens == 16
    assert half.mean_kl is not None
    assert half.mean_kl.value == pytest.approx(0.2)
    assert reference.is_reference
    assert reference.ratio_predicted == reference.ratio_measured == 1.0
    assert failed.status == "failed"
    assert failed.ratio_predicted == 4.0  # its bytes are known from the file
    assert (failed.decode_per_s, failed.ratio_measured, failed.perplexity) == (None, None, None)
    assert failed.requantized_from == "Q8_0"


def test_bytes_that_nobody_knows_have_no_ratio() -> None:
    record = comparison()
    unknown = msgspec.structs.replace(record.variants[0], bytes_per_token=None, decode=None)
    first, *_ = variant_rows(
        msgspec.structs.replace(record, variants=(unknown, *record.variants[1:]))
    )
    assert first.bytes_per_token is None
    assert first.ratio_predicted is None


def test_without_a_test_the_answers_rate_counts() -> None:
    variants = [msgspec.structs.replace(item, decode=None) for item in comparison().variants]
    row = variant_rows(comparison(variants=tuple(variants)))[0]
    assert row.decode_per_s == pytest.approx(19.0)
    assert row.ratio_measured == pytest.approx(1.9)
    assert row.ratio_predicted == 2.0


def test_sentences() -> None:
    told = sentences(comparison())
    assert told[0] == "Decode follows the bytes within 5\xa0%."
    assert "Q4_K_M expects another next token than Q8_0 at 33.3\xa0%" in told[1]
    assert any("given back" in sentence and "1.00 MiB" in sentence for sentence in told)
    assert "Q2_K failed: The engine was killed while writing the reply." in told


def test_a_variant_far_from_its_bytes_is_named() -> None:
    record = comparison(variants=(variant("Q4_0", 4 * GIB, 12.0), variant("Q8_0", 8 * GIB, 10.0)))
    assert sentences(record)[0] == "Q4_0 decodes 40\xa0% slower than its bytes alone say."


def test_shared_rates_are_not_judged() -> None:
    record = comparison(settings=ComparisonSettings(prompt="x", together=True))
    assert all(row.shared for row in variant_rows(record))
    assert "shared bandwidth" in sentences(record)[0]
    assert not any("follows the bytes" in sentence for sentence in sentences(record))


def test_memory_that_stays_is_told() -> None:
    record = comparison(memory=tuple(steps(0, 30 * MIB, 4000 * MIB, 900 * MIB)))
    assert any("held 870 MiB after it was unloaded" in line for line in sentences(record))
    (item,) = memory_returns(record)
    assert (item.before_bytes, item.most_bytes, item.after_bytes) == (
        30 * MIB,
        4000 * MIB,
        900 * MIB,
    )
    assert item.free_before_bytes == item.free_after_bytes == 9 * GIB


def test_busy_and_stopped_are_told() -> None:
    told = sentences(comparison(busy="Other programs use 2.0 processor cores.", cancelled=True))
    assert any("uncertain" in line for line in told)
    assert told[-1] == "It was stopped before the end."


def test_records_come_back_as_they_were() -> None:
    record = comparison()
    assert decode_comparison(encode_comparison(record)) == record
    assert record.id == decode_comparison(encode_comparison(record)).id
    later = msgspec.structs.replace(record, at_ms=record.at_ms + 1)
    assert record.id < later.id  # sorted by time
    other = msgspec.structs.replace(
        record, settings=msgspec.structs.replace(record.settings, prompt="Another")
    )
    assert other.id != record.id
    assert record.title == "Model 8B: Q4_K_M, Q8_0, Q2_K"


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b'{"at_ms": 1}', b"[" * 100_000])
def test_what_is_no_record_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no comparison"):
        decode_comparison(data)


def test_a_record_of_a_newer_program_is_refused() -> None:
    newer = encode_comparison(comparison(format=99))
    with pytest.raises(ValueError, match="newer"):
        decode_comparison(newer)


def test_bytes_of_the_plan_where_no_test_says_them() -> None:
    plain = variant("Q8_0", 8 * GIB, 10.0)
    assert plain.decode is not None
    without = msgspec.structs.replace(
        plain, decode=msgspec.structs.replace(plain.decode, bytes_per_token=None)
    )
    (row,) = variant_rows(comparison(variants=(without,), reference=0, memory=()))
    assert row.bytes_per_token == 8 * GIB  # of the file: there is no plan and no test
    assert (row.depth_tokens, row.ceiling, row.efficiency) == (None, None, None)
    unanswered = msgspec.structs.replace(without, stats=None)
    (row,) = variant_rows(comparison(variants=(unanswered,), reference=0, memory=()))
    assert row.decode_per_s == 10.0
    nothing = msgspec.structs.replace(unanswered, decode=None, prefill=None)
    (row,) = variant_rows(comparison(variants=(nothing,), reference=0, memory=()))
    assert (row.decode_per_s, row.prefill_per_s, row.first_token_s) == (None, None, None)


def test_a_faster_one_is_named_as_well() -> None:
    record = comparison(variants=(variant("Q4_0", 4 * GIB, 30.0), variant("Q8_0", 8 * GIB, 10.0)))
    assert sentences(record)[0] == "Q4_0 decodes 50\xa0% faster than its bytes alone say."


def test_a_note_on_quality_is_told() -> None:
    noted = variant("Q4_0", 4 * GIB, 20.0, quality_note="The text was too short.")
    record = comparison(variants=(noted, variant("Q8_0", 8 * GIB, 10.0)), memory=())
    assert "Q4_0: The text was too short." in sentences(record)


def test_memory_that_is_all_given_back_or_was_never_seen() -> None:
    back = comparison(memory=tuple(steps(0, 30 * MIB, 4000 * MIB, 30 * MIB)))
    assert "After each variant all of its memory was given back." in sentences(back)
    unseen = comparison(memory=())
    assert not any("memory" in line for line in sentences(unseen))
    half = comparison(memory=tuple(steps(0, 30 * MIB, 4000 * MIB, 31 * MIB)[:2]))
    assert not any("given back" in line for line in sentences(half))
    (item,) = memory_returns(half)
    assert (item.after_bytes, item.free_after_bytes) == (None, None)


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (MIB - 1, "all of its memory was given back"),
        (MIB, "(at most 1.00 MiB of the engine's own stayed"),
        (32 * MIB, "(at most 32.0 MiB of the engine's own stayed"),
        (32 * MIB + 1, "held 32.0 MiB after it was unloaded"),
    ],
)
def test_how_much_memory_may_stay(kept: int, words: str) -> None:
    record = comparison(memory=tuple(steps(0, 30 * MIB, 4000 * MIB, 30 * MIB + kept)))
    assert any(words in line for line in sentences(record))


def test_bytes_of_the_plan_at_the_depth_of_the_answer(plan_of: Callable[..., Plan]) -> None:
    session = Session()
    session.planned(plan_of(n_ctx=2048))
    plain = variant("Q8_0", 8 * GIB, 10.0)
    answered = msgspec.structs.replace(plain, decode=None, load=loaded(session))
    assert session.plan is not None
    assert answered.stats is not None
    point = session.plan.rate_at(answered.stats.mean_depth_tokens)
    assert point is not None
    (row,) = variant_rows(comparison(variants=(answered,), reference=0, memory=()))
    assert row.depth_tokens == answered.stats.mean_depth_tokens == 40
    assert row.bytes_per_token == point.bytes_per_token
    assert row.ceiling == point.ceiling


def _with_cache(label: str, weights_bytes: int, rate: float, cache_bytes: int) -> VariantRecord:
    plain = variant(label, weights_bytes, rate)
    assert plain.decode is not None
    return msgspec.structs.replace(
        plain,
        decode=msgspec.structs.replace(plain.decode, bytes_per_token=weights_bytes + cache_bytes),
    )


def _waiting(item: VariantRecord, **values: Any) -> VariantRecord:
    return msgspec.structs.replace(
        item, status="waiting", decode=None, prefill=None, stats=None, **values
    )


def test_a_predicted_ratio_is_the_same_before_a_variant_ran_and_after() -> None:
    """With 1 GiB of cache, 8 + 1 over 4 + 1; without it 8 over 4; mixed it was 9 over 4."""
    reference = _with_cache("Q8_0", 8 * GIB, 10.0, GIB)
    half = _with_cache("Q4_0", 4 * GIB, 18.0, GIB)
    before = variant_rows(comparison(variants=(reference, _waiting(half)), reference=0))
    after = variant_rows(comparison(variants=(reference, half), reference=0))
    assert [row.ratio_predicted for row in before] == [1.0, 1.8]
    assert [row.ratio_predicted for row in after] == [1.0, 1.8]
    assert [row.bytes_per_token for row in before] == [9 * GIB, 5 * GIB]


def test_where_the_cache_of_one_is_unknown_the_weights_count_for_all() -> None:
    reference = _with_cache("Q8_0", 8 * GIB, 10.0, GIB)
    other = _waiting(_with_cache("Q4_0", 4 * GIB, 18.0, GIB), name="Other 8B")
    third = _with_cache("Q2_K", 2 * GIB, 30.0, GIB)
    rows = variant_rows(comparison(variants=(reference, other, third), reference=0))
    assert [row.ratio_predicted for row in rows] == [1.0, 2.0, 4.0]
    assert [row.bytes_per_token for row in rows] == [8 * GIB, 4 * GIB, 2 * GIB]


def test_a_chat_that_wrote_meanwhile_is_told() -> None:
    first, second = variant("Q4_0", 4 * GIB, 20.0), variant("Q8_0", 8 * GIB, 10.0)
    said = "The chat wrote meanwhile, so these rates are low: Q8_0."
    quiet = comparison(variants=(first, second), memory=())
    assert not any("chat wrote" in line for line in sentences(quiet))
    disturbed = msgspec.structs.replace(second, disturbed=True)
    assert said in sentences(comparison(variants=(first, disturbed), memory=()))
