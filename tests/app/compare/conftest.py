"""Variants of a tiny model, and a comparison that runs them with real engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.compare.again import Again
from app.compare.events import Event
from app.compare.opener import opener
from app.compare.request import CompareRequest
from app.compare.runner import Comparison
from app.data.state import StateFile
from app.engine import bandwidth
from app.engine.client import EngineClient
from app.engine.protocol import Quantize, Quantized
from inspector.compare.records import ComparisonRecord, ComparisonSettings
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

TEXT = "The ship lay low in the water, and the wind was fair; nobody spoke a word. " * 30


@pytest.fixture(autouse=True)
def small_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probe with small buffers: what is tested here is not the speed."""
    monkeypatch.setattr(bandwidth, "LARGE_BYTES", 4 << 20)
    monkeypatch.setattr(bandwidth, "MOST_BYTES", 2 << 20)


@pytest.fixture(scope="session")
def tiny_variants(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """The same tiny model in F32, Q8_0 and Q4_0."""
    folder = tmp_path_factory.mktemp("variants")
    whole = write_tiny_model(folder / "tiny-F32.gguf", TinyModel())
    paths = [whole]
    with EngineClient() as client:
        for kind in ("Q8_0", "Q4_0"):
            path = folder / f"tiny-{kind}.gguf"
            request = Quantize(id=client.new_id(), source=str(whole), target=str(path), kind=kind)
            client.call(request, Quantized)
            paths.append(path)
    return tuple(paths)


@dataclass
class Run:
    """A comparison to be run, with what it tells."""

    comparison: Comparison
    scratch: Path
    events: list[Event] = field(default_factory=list)

    def __call__(self) -> ComparisonRecord:
        return self.comparison.run()

    def of(self, kind: type[Any], index: int | None = None) -> list[Any]:
        """Return the events of a kind, of one variant."""
        found = [event for event in self.events if isinstance(event, kind)]
        return [event for event in found if index is None or event.index == index]


@pytest.fixture
def prepare_run(tmp_path: Path) -> Callable[..., Run]:
    """Return what makes a comparison; ``on_event`` is called after an event was kept."""

    def make(
        *paths: Path,
        on_event: Callable[[Event], None] = lambda _: None,
        reference: int | None = None,
        again: Again | None = None,
        text: str = TEXT,
        **settings: Any,
    ) -> Run:
        values: dict[str, Any] = {
            "prompt": "Say something.",
            "max_tokens": 12,
            "n_ctx": 512,
            "threads": 1,
            "text_tokens": 256,
            "chunk_tokens": 128,
            "measure_rates": False,
        }
        state = StateFile(None)
        scratch = tmp_path / "scratch"
        request = CompareRequest(
            paths=paths,
            settings=ComparisonSettings(**(values | settings)),
            text=text,
            reference=reference,
            again=again,
        )
        events: list[Event] = []

        def keep(event: Event) -> None:
            events.append(event)
            on_event(event)

        comparison = Comparison(request, opener(state), state, keep, scratch)
        return Run(comparison, scratch, events)

    return make
