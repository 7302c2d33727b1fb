from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.ui.models.page import ModelsPage
from app.ui.models.views import FitView, GroupView, LibraryView, VariantView
from app.ui.theme import ThemeManager

GIB = 1 << 30

FITS = FitView(
    "fits", "Fits, 9 GiB free", "Planned.", (("weights", 0.3),), 131072, 30, 40, "w", 300
)
TIGHT = FitView(
    "tight", "Tight, 1 GiB free", "Planned.", (("weights", 0.9),), 8192, 10, 20, "w", 90
)
LARGE = FitView("too_large", "5 GiB short", "Planned.", (("weights", 1.4),), 0, 5, 6, "w", 30)


def row(key: str, name: str, size_gib: float, fit: FitView, **more: object) -> VariantView:
    values: dict[str, object] = {
        "key": key, "name": name, "size_bytes": int(size_gib * GIB), "fit": fit,
        "source": "LM Studio", "place": f"LM Studio · {key[1:]}", "search_text": key,
        "bits_per_weight": size_gib, "context_tokens": 131072,
    }  # fmt: skip
    return VariantView(**(values | more))  # type: ignore[arg-type]


VIEW = LibraryView(
    groups=(
        GroupView(
            key="llama", title="Llama-8B", tags=("llama",), size_bytes=20 * GIB,
            variants=(
                row("/llama-q8", "Q8_0", 8, LARGE),
                row("/llama-q6", "Q6_K", 6, TIGHT, source="Ollama", keeper="Ollama keeps it."),
                row("/llama-q4", "Q4_K_M", 4, FITS, is_loaded=True),
                row("/mmproj", "Projector", 1, FitView(), kind="projector"),
            ),
        ),
        GroupView(key="gemma", title="gemma-4b", variants=(row("/gemma", "Q4_0", 2, FITS),)),
        GroupView(
            key="broken", title="Files that can't be used", kind="broken",
            variants=(row("/cut", "cut.gguf", 1, FitView(), problem="The file is incomplete."),),
        ),
    ),
    summary="2 models",
    basis="Predicted for a test",
    budget_title="Memory at 8K",
    sources=("LM Studio", "Ollama"),
)  # fmt: skip


@pytest.fixture
def themes(qtbot: QtBot) -> ThemeManager:
    """The dark theme at its usual size."""
    return ThemeManager("dark")


@pytest.fixture
def page(qtbot: QtBot, themes: ThemeManager) -> ModelsPage:
    """The page with three groups."""
    page = ModelsPage(themes)
    qtbot.addWidget(page)
    page.resize(1204, 812)
    page.show()
    page.set_library(VIEW)
    return page
