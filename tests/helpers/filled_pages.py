"""The pages of a window with something on them, so that what they hold can be looked at and walked.

The views are filled as their presenters fill them; no hub is asked and no comparison run.
"""

from __future__ import annotations

from typing import Final

from app.ui.application import Application
from app.ui.compare.views import BarView, ColumnView, DifferenceView, DotView, SetupView, TableView
from app.ui.downloads.views import (
    DownloadView,
    FileView,
    PlaceView,
    RepositoryView,
    ResultView,
)
from app.ui.models.views import FitView, VerdictKind

__all__ = ["fill"]

_FILES: Final[tuple[tuple[str, int, VerdictKind, str], ...]] = (
    ("Q2_K", 12, "fits", "Fits, 11.2 GiB free"),
    ("Q4_0", 17, "fits", "Fits, 9.4 GiB free"),
    ("Q8_0", 34, "tight", "Tight, 0.9 GiB free"),
    ("F16", 60, "too_large", "Too large, 3.1 GiB over"),
)
_ANSWER: Final = (
    "A KV cache holds the keys and values of every token that was read, for each layer, so that "
    "the next token needs one row of the scores and not all of them."
)


def fill(program: Application) -> None:
    """Fill the pages Compare, Get models and Planner."""
    _fill_compare(program)
    _fill_get_models(program)
    program.planner.show_example("card24")


def _fill_compare(program: Application) -> None:
    page = program.compare.page
    labels = ("Q8_0", "Q4_K_M", "Q2_K")
    colours = ("weights", "kv_used", "free")
    page.set_title("Llama 3.1 8B Instruct")
    page.setup.prompt.setPlainText("Why does a language model need a KV cache?")
    page.setup.set_view(
        SetupView(
            options="Temperature 0 · seed 1 · 128 tokens · context 4,096",
            how="One after another, each in an engine of its own",
            can_run=True,
        )
    )
    page.set_columns(
        tuple(
            ColumnView(
                key=key,
                label=label,
                name=f"Llama-3.1-8B-Instruct-{label}.gguf",
                colour=colour,
                size="4.58 GiB",
                state="done",
                answer=_ANSWER,
                differing=((10, 26), (40, 60)) if key else (),
                figures=(("decode", "92.4", "tok/s"), ("prefill", "1,204", "tok/s")),
                is_reference=key == 0,
            )
            for key, (label, colour) in enumerate(zip(labels, colours, strict=True))
        ),
        running=False,
    )
    heads = ("Variant", "File", "Bits/weight", "Memory", "Prefill", "Decode", "Predicted", "Top")
    page.set_results(
        TableView(
            heads=heads,
            rows=tuple(
                (label, "4.58 GiB", "4.89", "5.20 GiB", "1,204", "92.4", "60 to 95", "94.1 %")
                for label in labels
            ),
            about="Medians of three runs",
            caption="Measured on this computer, one after another.",
        ),
        tuple(
            BarView(label=label, colour=colour, per_s=92.4, ceiling=102.0, expected=(60.0, 95.0))
            for label, colour in zip(labels, colours, strict=True)
        ),
        tuple(
            DotView(label=label, colour=colour, per_s=90.0 - 9 * n, same_top=0.9 + 0.03 * n)
            for n, (label, colour) in enumerate(zip(labels, colours, strict=True))
        ),
    )
    page.differences.set_variants(((1, "Q4_K_M"), (2, "Q2_K")), 1)
    page.differences.set_places(
        (
            DifferenceView(
                before="The line on a ship's side shows how ",
                token="deeply",
                after=" it may be loaded",
                reference_says="Q8_0: deeply 71 %",
                variant_says="Q4_K_M: much 44 %",
                kl="0.61 nats",
            ),
        )
    )


def _fill_get_models(program: Application) -> None:
    page = program.downloads.page
    page.set_place(
        PlaceView("From huggingface.co, without a token, into /home/someone/models/plimsoll")
    )
    page.set_results(
        tuple(
            ResultView(
                f"owner/Llama-3.{n}-8B-Instruct-GGUF",
                f"Llama-3.{n}-8B-Instruct-GGUF",
                "owner · 8.03B parameters · llama3.1 licence",
                "↓ 1.2 M in a month · ♥ 431 · changed 2 weeks ago",
                ("needs terms",) if n == 1 else (),
                spoken=f"Llama 3.{n} by owner",
            )
            for n in range(1, 8)
        )
    )
    page.set_repository(
        RepositoryView(
            "owner/Llama-3.1-8B-Instruct-GGUF",
            "Llama-3.1-8B-Instruct-GGUF",
            "by owner · 22 files · changed 2 weeks ago",
            "https://huggingface.co/owner/Llama-3.1-8B-Instruct-GGUF",
            ("needs terms",),
            tuple(
                FileView(
                    key=f"Llama-3.1-8B-Instruct-{name}.gguf",
                    name=name,
                    detail=f"Llama-3.1-8B-Instruct-{name}.gguf",
                    size_bytes=size << 28,
                    bits_per_weight=size / 4,
                    fit=FitView(
                        verdict, words, max_context_tokens=size * 1024, decode_per_s=98.0 / size
                    ),
                    state="here" if name == "Q4_0" else "new",
                )
                for name, size, verdict, words in _FILES
            ),
            "Fit and rate are predicted from the header of the file, read over the network, for "
            "this computer.",
            needs_token=True,
        )
    )
    page.queue.set_downloads(
        (
            DownloadView(
                "a", "Llama-3.1-8B-Instruct Q4_0", "owner/Llama-3.1-8B-Instruct-GGUF", "running",
                0.4, "1.8 of 4.3 GiB, 24 MiB/s, 2 minutes to go", ("pause", "remove"),
            ),
            DownloadView(
                "b", "Llama-3.1-8B-Instruct Q8_0", "owner/Llama-3.1-8B-Instruct-GGUF", "failed",
                0.1, "The disk is full: 8.5 GiB are needed and 2.1 GiB are free. Make room, or "
                "choose another folder for downloads.", ("resume", "remove"),
            ),
            DownloadView(
                "c", "Llama-3.1-8B-Instruct Q2_K", "owner/Llama-3.1-8B-Instruct-GGUF", "done",
                1.0, "3.0 GiB, checked", ("chat", "dismiss"),
            ),
        ),
        "2 under way",
    )  # fmt: skip
