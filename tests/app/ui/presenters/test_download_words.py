from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.data.hub.values import Job, Listing, RemoteFile, Repository, Transfer, Variant
from app.data.library.fit import VariantFit
from app.ui.presenters.download_fits import size_fit
from app.ui.presenters.download_queue import Download
from app.ui.presenters.download_words import (
    Figures,
    best_variant,
    download_view,
    fault_message,
    in_order,
    queue_words,
    repository_view,
    result_view,
)
from gguf_tools.facts import read_facts
from gguf_tools.machine import cpu_only

GIB = 1 << 30


def variant(name: str, size: int, **more: Any) -> Variant:
    file = RemoteFile(path=f"M-{name}.gguf", size_bytes=size)
    return Variant(key=file.path, name="M", quantization=name, files=(file,), **more)


def listing(*variants: Variant, **more: Any) -> Listing:
    return Listing(repository="o/M-GGUF", revision="c", variants=variants, **more)


def job(size: int = 4 * GIB) -> Job:
    file = RemoteFile(path="M.gguf", size_bytes=size)
    return Job(
        id="0" * 16, repository="o/M", revision="c", title="M Q4_0", files=(file,), folder=""
    )


def fit(verdict: Any, **more: Any) -> VariantFit:
    return VariantFit(verdict=verdict, context_tokens=8192, left_bytes=GIB, **more)


def test_a_result_says_what_people_choose_by() -> None:
    found = Repository(
        id="maker/Model-GGUF",
        downloads=1_243_112,
        likes=412,
        updated="2026-03-14",
        licence="apache-2.0",
        gated=True,
        parameters=8_190_000_000,
    )
    view = result_view(found)
    assert (view.name, view.what) == ("Model-GGUF", "maker · 8.19B · apache-2.0")
    assert view.use.startswith("↓ 1.24M · ♥ 412 · 14 ")
    assert view.tags == ("gated",)
    assert "licence apache-2.0" in view.spoken
    bare = result_view(Repository(id="maker/Model"))
    assert (bare.what, bare.use) == ("maker · no licence named", "")


def test_where_figures_come_from_is_said(starter: Path) -> None:
    facts = read_facts(starter)
    one, two, eye = (
        variant("Q4_0", 2 * GIB),
        variant("Q8_0", 4 * GIB),
        variant("F16", GIB, projector=True),
    )
    what = listing(one, two, eye, parameters=4_000_000_000)
    waiting = repository_view(what, {}, {}, "https://hub", None)
    assert [row.fit.words for row in waiting.files] == ["…", "…", "–"]
    assert waiting.basis == "Reading headers: 0 of 2"
    assert waiting.address == "https://hub/o/M-GGUF"
    known = {
        one.key: Figures("header", facts, fit("fits", decode_high_per_s=9.0)),
        two.key: Figures("size", None, fit("tight"), "The connection broke off."),
    }
    view = repository_view(what, known, {one.key: "here"}, "https://hub", 3 << 20)
    first, second, third = view.files
    assert first.bits_per_weight == facts.bits_per_weight
    assert (first.fit.words, first.fit.decode_per_s, first.state) == (
        "Fits, 1.00 GiB free",
        9.0,
        "here",
    )
    assert second.bits_per_weight == pytest.approx(4 * GIB * 8 / 4e9)
    assert second.fit.words == "≈ tight"
    assert third.name == "Vision part, F16"
    assert view.basis == "1 of 2 are judged by size alone: The connection broke off."
    del known[two.key]
    read = repository_view(listing(one), known, {}, "https://hub", 3 << 20)
    assert read.basis == "Fit and rate are predicted from the headers of the files (3.00 MiB)."


def test_missing_parts_are_a_problem() -> None:
    view = repository_view(listing(variant("Q4_0", GIB, missing=2)), {}, {}, "https://hub", None)
    assert view.files[0].problem.startswith("2 of its parts are missing")


def test_the_best_variant_fits_and_is_near_five_bits() -> None:
    variants = [variant(f"Q{bits}_K", bits * GIB) for bits in (2, 4, 5, 8)]
    what = listing(*variants, parameters=8 * GIB)
    assert best_variant(what, {}) == "M-Q5_K.gguf"
    verdicts = dict(
        zip(
            (item.key for item in variants),
            ("fits", "tight", "too_large", "too_large"),
            strict=True,
        )
    )
    figures = {key: Figures("size", None, fit(verdict)) for key, verdict in verdicts.items()}
    assert best_variant(what, figures) == "M-Q2_K.gguf"
    assert best_variant(listing(), {}) == ""


@pytest.mark.parametrize(
    ("transfer", "words"),
    [
        (None, "Starting"),
        (
            Transfer(phase="downloading", done_bytes=GIB, total_bytes=4 * GIB,
                     bytes_per_s=10 * 2**20, left_s=307),
            "1.00 GiB of 4.00 GiB · 10.0 MiB/s · 5 min left",
        ),
        (
            Transfer(phase="checking", done_bytes=GIB, total_bytes=4 * GIB),
            "Checking what is there · 1.00 GiB of 4.00 GiB",
        ),
        (
            Transfer(phase="waiting", done_bytes=GIB, total_bytes=4 * GIB, note="It broke off."),
            "Waits for the network · 1.00 GiB of 4.00 GiB · It broke off.",
        ),
    ],
)  # fmt: skip
def test_how_far_a_download_is(transfer: Transfer | None, words: str) -> None:
    view = download_view(Download(job(), "running", transfer))
    assert view.words == words
    assert view.share == (0.25 if transfer else 0)
    assert view.actions == ("pause", "remove")


@pytest.mark.parametrize(
    ("left_s", "words"),
    [(0.2, "1 s left"), (59, "59 s left"), (3599, "60 min left"), (7500, "2 h 5 min left")],
)
def test_times_left(left_s: float, words: str) -> None:
    transfer = Transfer(phase="downloading", done_bytes=0, total_bytes=4, left_s=left_s)
    assert download_view(Download(job(), "running", transfer)).words.endswith(words)


def test_what_runs_comes_first_and_sums_are_told() -> None:
    items = tuple(Download(job(), state) for state in ("done", "waiting", "failed", "running"))
    assert [item.state for item in in_order(items)] == ["running", "failed", "waiting", "done"]
    assert queue_words(items) == "8.00 GiB to come for 2 models"
    assert queue_words(items[:2]) == ""


def test_faults_have_a_way_out() -> None:
    for kind in ("offline", "network", "token", "gated", "missing", "busy", "unknown", "disk"):
        message = fault_message(kind, "Sentence.")
        assert message.choice in {"settings", "token", "again"}
        assert message.label
        assert message.text == "Sentence."


@pytest.mark.parametrize(("size_gib", "verdict"), [(4, "fits"), (7.5, "tight"), (9, "too_large")])
def test_a_size_alone_gives_a_verdict_and_no_rate(size_gib: float, verdict: str) -> None:
    machine = cpu_only(10 * GIB, 9 * GIB, bandwidth_bytes_per_s=50e9)
    judged = size_fit(round(size_gib * GIB), machine)
    assert judged.verdict == verdict
    assert judged.decode_high_per_s is None
    assert size_fit(GIB, None).verdict == "unknown"
    assert size_fit(GIB, cpu_only()).verdict == "unknown"
