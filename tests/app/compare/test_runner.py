"""Comparisons with real engines: order, figures, memory, deaths, cancels."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median

import psutil
import pytest

from app.compare.events import (
    Began,
    Event,
    Noticed,
    PhaseChanged,
    Piece,
    VariantFinished,
)
from app.compare.request import CompareError
from app.engine.protocol import Hello
from app.engine.threads import cpu_name
from app.machines import Machines
from gguf_tools.facts import read_facts
from inspector.compare.records import ComparisonRecord
from inspector.compare.table import memory_returns, sentences, variant_rows
from tests.app.compare.conftest import Run
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

MakeRun = Callable[..., Run]
_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


def test_one_after_another(tiny_variants: tuple[Path, ...], prepare_run: MakeRun) -> None:
    """The whole way: the reference first, one engine at a time, text, rates, quality, memory."""
    engines: set[int] = set()
    most = 0

    def count(_: Event) -> None:
        nonlocal most
        running = {child.pid for child in psutil.Process().children()}
        engines.update(running)
        most = max(most, len(running))

    whole, eight, four = tiny_variants
    run = prepare_run(four, whole, eight, on_event=count, measure_rates=True)
    record = run()

    assert record.reference == 1  # the largest
    began = run.of(Began)[0]
    assert began.order == (1, 0, 2)
    assert most == 1
    assert len(engines) == 3
    assert [item.status for item in record.variants] == ["done"] * 3
    assert [item.label for item in record.variants] == ["Q4_0", "F32", "Q8_0"]
    finished = [event.index for event in run.of(VariantFinished)]
    assert finished == [1, 0, 2]
    for index, variant in enumerate(record.variants):
        phases = [event.phase for event in run.of(PhaseChanged, index)]
        order = ["starting", "loading", "reading", "measuring", "scoring", "unloading", "done"]
        assert list(dict.fromkeys(phases)) == order
        assert variant.stats is not None
        assert variant.stats.reply_tokens == 12
        pieces = run.of(Piece, index)
        assert "".join(piece.answer for piece in pieces) == variant.answer
        assert variant.prefill is not None
        assert len(variant.prefill.samples) == 2
        assert variant.decode is not None
        assert variant.decode.tokens == 32
        assert len(variant.decode.samples) == 3
        assert variant.load is not None
        assert variant.load.settings.n_ctx == 512
        assert variant.load.plan is not None
        assert variant.planned_bytes
        assert variant.engine_bytes == pytest.approx(variant.planned_bytes, rel=0.05)
        assert variant.peak_bytes
        assert variant.quality is not None
        assert variant.quality.tokens == 2 * 63
        assert variant.quality.bits_per_byte

    rows = variant_rows(record)
    assert rows[1].ratio_predicted == rows[1].ratio_measured == 1.0
    assert rows[0].ratio_predicted is not None
    assert rows[2].ratio_predicted is not None
    assert rows[0].ratio_predicted > rows[2].ratio_predicted > 1.0
    divergences = [row.mean_kl.value if row.mean_kl else None for row in rows]
    assert divergences[1] is None
    assert divergences[0] is not None
    assert divergences[2] is not None
    assert divergences[0] > divergences[2] > 0
    assert record.variants[0].quality is not None
    assert record.variants[0].quality.worst
    assert list(run.scratch.iterdir()) == []  # what the reference expected is gone


def test_memory_is_back_after_three_variants(
    starter: Path, tmp_path: Path, prepare_run: MakeRun
) -> None:
    """Three real models in turn: each engine is as large after as before, then gone."""
    copies = [tmp_path / f"{name}.gguf" for name in ("a", "b", "c")]
    for path in copies:
        path.write_bytes(starter.read_bytes())
    record = prepare_run(*copies, quality=False, max_tokens=4)()
    assert [item.status for item in record.variants] == ["done"] * 3
    returns = memory_returns(record)
    assert len(returns) == 3
    for item in returns:
        assert item.before_bytes is not None
        assert item.most_bytes is not None
        assert item.after_bytes is not None
        assert item.most_bytes > item.before_bytes + (20 << 20)
        assert abs(item.after_bytes - item.before_bytes) < 8 << 20
    firsts = [item.before_bytes or 0 for item in returns]
    assert max(firsts) - min(firsts) < 8 << 20
    assert any("given back" in sentence for sentence in sentences(record))
    assert not psutil.Process().children()


@_POSIX
@pytest.mark.parametrize(
    ("phase", "when"),
    [
        ("loading", "while loading the model"),
        ("writing", "while writing the reply"),
        ("measuring", "while its speed was measured"),
        ("scoring", "while loading the model"),  # anew, for many rows of logits
    ],
)
def test_an_engine_that_dies_marks_its_variant_and_the_others_go_on(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun, phase: str, when: str
) -> None:
    killed = threading.Event()

    def kill(event: Event) -> None:
        if isinstance(event, Piece):
            there = phase == "writing" and event.index == 1
        else:
            there = isinstance(event, PhaseChanged) and (event.phase, event.index) == (phase, 1)
        if there and not killed.is_set():
            killed.set()
            for child in psutil.Process().children():
                child.send_signal(signal.SIGKILL)

    whole, eight, four = tiny_variants
    rates = phase == "measuring"
    run = prepare_run(whole, eight, four, on_event=kill, max_tokens=200, measure_rates=rates)
    record = run()
    assert killed.is_set()
    first, second, third = record.variants
    assert (first.status, second.status, third.status) == ("done", "failed", "done")
    assert f"killed {when}" in second.failure or f"ended from outside {when}" in second.failure
    assert second.advice
    assert second.reached == phase
    assert not record.cancelled
    if phase == "writing":
        assert second.answer  # what was written so far
        assert second.quality is None
    if phase == "scoring":
        assert second.stats is not None
    assert third.quality is not None
    assert third.quality.mean_kl is not None
    assert any(sentence.startswith("Q8_0 failed") for sentence in sentences(record))
    assert not psutil.Process().children()


@_POSIX
def test_a_reference_that_dies_leaves_the_others_without_divergence(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun
) -> None:
    def kill(event: Event) -> None:
        if isinstance(event, PhaseChanged) and event.phase == "scoring" and event.index == 0:
            for child in psutil.Process().children():
                child.send_signal(signal.SIGKILL)

    record = prepare_run(*tiny_variants, on_event=kill)()
    assert [item.status for item in record.variants] == ["failed", "done", "done"]
    for variant in record.variants[1:]:
        assert variant.quality is not None
        assert variant.quality.mean_kl is None
        assert "reference" in variant.quality_note


def test_a_cancel_keeps_what_is_known(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun
) -> None:
    run: Run

    def cancel(event: Event) -> None:
        if isinstance(event, Piece) and event.index == 1:
            threading.Thread(target=run.comparison.cancel).start()

    run = prepare_run(*tiny_variants, on_event=cancel, max_tokens=400)
    record = run()
    assert record.cancelled
    assert [item.status for item in record.variants] == ["done", "cancelled", "cancelled"]
    assert record.variants[1].answer
    assert record.variants[1].reached == "writing"
    assert not psutil.Process().children()
    assert list(run.scratch.iterdir()) == []


def test_a_cancel_before_the_start(tiny_variants: tuple[Path, ...], prepare_run: MakeRun) -> None:
    run = prepare_run(*tiny_variants)
    run.comparison.cancel()
    record = run()
    assert [item.status for item in record.variants] == ["cancelled"] * 3


def test_together(tiny_variants: tuple[Path, ...], prepare_run: MakeRun) -> None:
    """All at once: engines side by side, rates marked as shared, quality afterwards."""
    most = 0

    def count(_: Event) -> None:
        nonlocal most
        most = max(most, len(psutil.Process().children()))

    run = prepare_run(*tiny_variants, on_event=count, together=True, measure_rates=True)
    record = run()
    assert most == 3
    assert [item.status for item in record.variants] == ["done"] * 3
    assert all(item.decode is None for item in record.variants)
    assert all(item.quality is not None for item in record.variants)
    rows = variant_rows(record)
    assert all(row.shared for row in rows)
    assert all(row.decode_per_s for row in rows)
    assert any("shared bandwidth" in sentence for sentence in sentences(record))
    first = {event.index: run.events.index(event) for event in reversed(run.of(Piece))}
    loaded = [
        run.events.index(event)
        for event in run.of(PhaseChanged)
        if event.phase == "loading" and event.fraction == 1.0
    ]
    assert max(loaded[:3]) < min(first.values())  # nobody begins before all are there


@_POSIX
def test_together_one_engine_dies_while_loading(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun
) -> None:
    run: Run
    killed = threading.Event()

    def kill(event: Event) -> None:
        if isinstance(event, PhaseChanged) and event.phase == "loading" and not killed.is_set():
            killed.set()
            for driven in run.comparison._running:
                if driven.index == event.index and driven.client is not None:
                    driven.client.kill()

    run = prepare_run(*tiny_variants, on_event=kill, together=True, quality=False)
    record = run()
    assert sorted(item.status for item in record.variants) == ["done", "done", "failed"]


def test_other_vocabularies_are_told(
    tiny_variants: tuple[Path, ...], tmp_path: Path, prepare_run: MakeRun
) -> None:
    other = write_tiny_model(tmp_path / "other.gguf", TinyModel(extra_tokens=("ship",), seed=2))
    record = prepare_run(tiny_variants[0], other, reference=0)()
    variant = record.variants[1]
    assert variant.quality is not None
    assert variant.quality.mean_kl is None
    assert "vocabulary" in variant.quality_note


def test_a_text_that_is_too_short_leaves_the_quality_out(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun
) -> None:
    record = prepare_run(*tiny_variants[:2], text="Short.")()
    assert [item.status for item in record.variants] == ["done", "done"]
    assert "at least 64" in record.variants[0].quality_note
    assert record.variants[0].quality is None


def test_a_full_disk_leaves_the_quality_out(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.compare.runner._SPARE_BYTES", 1 << 60)
    run = prepare_run(*tiny_variants[:2])
    record = run()
    assert [item.status for item in record.variants] == ["done", "done"]
    assert all(item.quality is None for item in record.variants)
    assert any("Quality is left out" in event.text for event in run.of(Noticed))


def test_quality_alone_without_a_prompt(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun
) -> None:
    record = prepare_run(*tiny_variants[:2], prompt=" ")()
    assert all(item.stats is None and item.quality is not None for item in record.variants)


def test_steps_of_memory_are_in_the_order_of_time(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun
) -> None:
    record: ComparisonRecord = prepare_run(*tiny_variants[:2], quality=False)()
    times = [step.sample.at_ms for step in record.memory]
    assert all(first <= second for first, second in pairwise(times))
    stages = [step.stage for step in record.memory if step.variant == 0]
    assert stages == ["before", "loaded", "answered", "unloaded", "ended"]
    assert record.memory[0].stage == "start"


@pytest.mark.parametrize(("count", "part"), [(1, "2 to 6"), (7, "2 to 6"), (0, "2 to 6")])
def test_too_few_or_too_many(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun, count: int, part: str
) -> None:
    with pytest.raises(CompareError, match=part):
        prepare_run(*([tiny_variants[0]] * count))()


def test_files_that_can_not_be_compared(
    tiny_variants: tuple[Path, ...], tmp_path: Path, prepare_run: MakeRun
) -> None:
    whole = tiny_variants[0]
    with pytest.raises(CompareError, match="chosen twice"):
        prepare_run(whole, whole)()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(whole.read_bytes()[:-5000])
    with pytest.raises(CompareError, match="incomplete") as failure:
        prepare_run(whole, broken)()
    assert failure.value.bad_file == broken
    with pytest.raises(CompareError):
        prepare_run(whole, tmp_path / "nothing.gguf")()
    with pytest.raises(CompareError, match="reference"):
        prepare_run(*tiny_variants, reference=5)()
    with pytest.raises(CompareError, match="prompt"):
        prepare_run(*tiny_variants, prompt="", quality=False)()


def test_a_variant_is_marked_when_the_chat_wrote_while_it_was_measured(
    tiny_variants: tuple[Path, ...], prepare_run: MakeRun
) -> None:
    run: Run

    def chat(event: Event) -> None:
        if isinstance(event, PhaseChanged) and (event.index, event.phase) in {
            (1, "measuring"),
            (2, "scoring"),
        }:
            run.comparison.disturb()

    run = prepare_run(*tiny_variants, on_event=chat, measure_rates=True)
    record = run()
    assert [item.disturbed for item in record.variants] == [False, True, False]
    assert "The chat wrote meanwhile, so these rates are low: Q8_0." in sentences(record)
    finished = run.of(VariantFinished, 1)[0]
    assert finished.variant.disturbed  # told while the others still run


@pytest.mark.parametrize("busy", ["", "Other programs use 1.1 processor cores."])
def test_what_was_measured_is_predicted_from_then_on(
    tiny_variants: tuple[Path, ...],
    prepare_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
    busy: str,
) -> None:
    monkeypatch.setattr("app.compare.runner.busy_sentence", lambda: busy)
    run = prepare_run(*tiny_variants[:2], measure_rates=True, quality=False)
    record = run()
    assert [item.status for item in record.variants] == ["done", "done"]
    state = run.comparison._state
    (engine,) = {item.load.identity.engine for item in record.variants if item.load is not None}
    hello = Hello(engine=engine, cpu=cpu_name(), system_info="", protocol=1, pid=1, devices=())
    machines = Machines(state, hello, may_measure=False, tuned=False)
    for path, variant in zip(tiny_variants, record.variants, strict=False):
        plan = machines.plan(read_facts(path), {"threads": 1, "n_ctx": 512})
        assert variant.decode is not None
        if busy:  # nothing was known that it could be faster than
            assert plan.machine.fit is None
            continue
        assert plan.machine.fit is not None
        assert (plan.machine.fit.own, plan.machine.fit.runs) == (True, 1)
        assert plan.decode.expected_high is not None
        measured = median(variant.decode.samples)
        assert plan.decode.expected_high == pytest.approx(measured, rel=0.5)
