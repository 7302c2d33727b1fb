"""A comparison that is opened again says the settings that it ran with."""

from __future__ import annotations

from app.compare.texts import QualityText
from app.ui.presenters.compare_wish import Wish, request_of, wish_of
from inspector.compare.records import ComparisonRecord, ComparisonSettings, VariantRecord


def test_settings_of_a_kept_run_are_its_own() -> None:
    settings = ComparisonSettings(
        prompt="Why?", max_tokens=40, temperature=0.5, seed=7, type_k="q8_0", type_v="q8_0",
        n_ctx=1024, together=True, text_tokens=512,
    )  # fmt: skip
    variants = tuple(
        VariantRecord(path=f"/models/{label}.gguf", name="m", label=label) for label in ("a", "b")
    )
    record = ComparisonRecord(at_ms=1, settings=settings, variants=variants, reference=1)
    wish = wish_of(record, Wish())
    assert wish.options["max_tokens"] == 40
    assert wish.reference == "/models/b.gguf"
    again = request_of(wish, QualityText("", "")).settings
    assert again == settings


def test_what_can_not_be_chosen_here_stays_as_it_was() -> None:
    record = ComparisonRecord(
        at_ms=1,
        settings=ComparisonSettings(prompt="", max_tokens=-5),
        variants=(VariantRecord(path="/models/a.gguf", name="m", label="a"),),
    )
    assert wish_of(record, Wish()).options["max_tokens"] == Wish().options["max_tokens"]
