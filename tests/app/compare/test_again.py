"""A part of a comparison run once more with real engines: the rest stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from app.compare.again import Again
from app.compare.events import Began, Event, PhaseChanged
from app.compare.request import CompareError
from inspector.compare.records import ComparisonRecord
from tests.app.compare.conftest import Run
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

MakeRun = Callable[..., Run]


@pytest.fixture
def compared(tiny_variants: tuple[Path, ...], prepare_run: MakeRun) -> ComparisonRecord:
    """The three variants, compared once, the second of them beside a chat that wrote."""
    record = prepare_run(*tiny_variants, measure_rates=True)()
    assert [item.status for item in record.variants] == ["done"] * 3
    variants = list(record.variants)
    variants[1] = msgspec.structs.replace(variants[1], disturbed=True)
    return msgspec.structs.replace(record, variants=tuple(variants))


def test_one_variant_is_measured_again_and_the_others_stay(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun, compared: ComparisonRecord
) -> None:
    run = prepare_run(
        *tiny_variants, measure_rates=True, reference=0, again=Again(compared, "rates", (1,))
    )
    record = run()
    (began,) = run.of(Began)
    assert began.order == (1,)
    assert {event.index for event in run.of(PhaseChanged)} == {1}
    assert run.of(PhaseChanged, 1)[-1].phase == "done"
    assert "scoring" not in {event.phase for event in run.of(PhaseChanged, 1)}
    before, after = compared.variants[1], record.variants[1]
    assert (record.variants[0], record.variants[2]) == (
        compared.variants[0],
        compared.variants[2],
    )
    assert (after.status, after.disturbed) == ("done", False)
    assert after.decode is not None
    assert before.decode is not None
    assert after.decode.samples != before.decode.samples
    assert after.answer == before.answer  # the same seed
    assert after.quality == before.quality  # of the file and the text alone
    stages = [step.stage for step in record.memory if step.variant == 1]
    assert stages.count("loaded") == 1
    assert {step.variant for step in record.memory} == {None, 0, 1, 2}


def test_quality_alone_is_measured_against_another_reference(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun, compared: ComparisonRecord
) -> None:
    again = Again(compared, "quality", (0, 1, 2))
    run = prepare_run(*tiny_variants, measure_rates=True, reference=2, again=again)
    record = run()
    assert record.reference == 2
    assert run.of(Began)[0].order == (2, 0, 1)
    phases = {event.phase for event in run.of(PhaseChanged)}
    assert not phases & {"reading", "writing", "measuring"}
    for before, after in zip(compared.variants, record.variants, strict=True):
        assert (after.answer, after.decode, after.stats) == (
            before.answer,
            before.decode,
            before.stats,
        )
        assert before.quality is not None
        assert after.quality is not None
        assert after.quality.perplexity.value == pytest.approx(before.quality.perplexity.value)
    whole = prepare_run(*tiny_variants, measure_rates=False, reference=2)()
    for alone, beside in zip(record.variants, whole.variants, strict=True):
        assert alone.quality is not None
        assert beside.quality is not None
        assert alone.quality.mean_kl == beside.quality.mean_kl
        assert alone.quality.same_top == beside.quality.same_top


def test_a_part_that_is_stopped_loses_nothing(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun, compared: ComparisonRecord
) -> None:
    def stop(event: Event) -> None:
        if isinstance(event, PhaseChanged) and event.phase in {"loading", "scoring"}:
            run.comparison.cancel()

    run = prepare_run(
        *tiny_variants, measure_rates=True, reference=0, on_event=stop,
        again=Again(compared, "rates", (1,)),
    )  # fmt: skip
    record = run()
    assert record.variants == compared.variants
    assert not record.cancelled

    run = prepare_run(
        *tiny_variants, measure_rates=True, reference=2, on_event=stop,
        again=Again(compared, "quality", (0, 1, 2)),
    )  # fmt: skip
    record = run()
    assert record == compared


def test_another_file_by_the_same_name_is_refused(
    tmp_path: Path, tiny_variants: tuple[Path, ...], prepare_run: MakeRun
) -> None:
    other = write_tiny_model(tmp_path / "other.gguf", TinyModel(layers=3))
    record = prepare_run(tiny_variants[0], other, quality=False)()
    write_tiny_model(other, TinyModel(layers=4))
    run = prepare_run(tiny_variants[0], other, again=Again(record, "rates", (1,)))
    with pytest.raises(CompareError, match="another one than was measured: run all of them again"):
        run()
