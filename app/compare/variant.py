"""One variant while it is compared: what is known of it so far, and who is told.

Kept apart from its engine, whose death in the middle loses nothing that came before it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from app.compare.events import Event, Noticed, Phase, PhaseChanged, Piece
from app.data.probe import host_memory
from app.engine.protocol import Chunk
from inspector.compare.records import MemoryStep, VariantRecord
from inspector.records import DeviceSample, MemorySample

__all__ = ["VariantState", "host_sample", "now_ms"]


def now_ms() -> int:
    """Return milliseconds since 1970."""
    return round(time.time() * 1000)


def host_sample() -> MemorySample:
    """Return main memory as the system sees it, without an engine."""
    host = host_memory()
    return MemorySample(
        at_ms=now_ms(),
        devices=(
            DeviceSample(
                name="CPU",
                kind="cpu",
                total_bytes=host.total_bytes,
                free_bytes=host.free_bytes,
            ),
        ),
    )


class VariantState:
    """`record` is what is known of a variant, `memory` what was seen of the computer's memory."""

    def __init__(self, index: int, record: VariantRecord, tell: Callable[[Event], None]) -> None:
        self.index = index
        self.record = record
        self.memory: list[MemoryStep] = []
        self.disturbed = threading.Event()  # another thread sees what else computes
        self._tell = tell

    def set(self, **values: Any) -> None:
        """Change the record."""
        self.record = msgspec.structs.replace(self.record, **values)

    def note_quality(self, text: str) -> None:
        """Say why a quality figure is missing."""
        self.set(quality_note=text)

    def phase(
        self,
        phase: Phase,
        fraction: float | None = None,
        done_tokens: int = 0,
        total_tokens: int = 0,
    ) -> None:
        """Tell what the variant does now."""
        self.set(reached=phase)
        self._tell(PhaseChanged(self.index, phase, fraction, done_tokens, total_tokens))

    def notice(self, text: str) -> None:
        """Tell and keep a sentence for people."""
        self.set(notices=(*self.record.notices, text))
        self._tell(Noticed(text, self.index))

    def piece(self, chunk: Chunk) -> None:
        """Keep and tell a piece of the answer."""
        self.set(
            answer=self.record.answer + chunk.answer,
            reasoning=self.record.reasoning + chunk.reasoning,
            reached="writing",
        )
        self._tell(
            Piece(
                self.index,
                chunk.answer,
                chunk.reasoning,
                chunk.reply_tokens,
                chunk.decode_per_s,
            )
        )
