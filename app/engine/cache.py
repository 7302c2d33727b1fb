"""Which tokens lie in the engine's memory, and how much of a new prompt they save.

A prompt that starts like the one before needs only its rest evaluated. Plain KV caches can be cut
back to any length. Sliding-window caches forget old positions, and recurrent state has no
positions at all: for those, checkpoints are taken where a cut is likely (the end of a prompt) and
restored; without one everything is evaluated again, and the turn says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.engine.interface import Checkpoint, EngineModel

__all__ = ["PrefixCache", "Reuse", "common_prefix"]

_MAX_CHECKPOINTS = 6
_MAX_CHECKPOINT_BYTES = 768 * 1024 * 1024


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many leading tokens two sequences share."""
    most = min(len(a), len(b))
    if a[:most] == b[:most]:
        return most
    low, high = 0, most  # a[:low] == b[:low], a[:high] != b[:high]
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True, slots=True)
class Reuse:
    """``kept`` tokens of a prompt need no evaluation.

    ``first_difference`` is the position where the prompt left the cached tokens, None if it did
    not; ``note`` says why less was kept than was equal.
    """

    kept: int
    first_difference: int | None
    note: str | None


class PrefixCache:
    """The tokens in a model's memory, kept in step with it."""

    def __init__(self, model: EngineModel) -> None:
        self._model = model
        self._tokens: list[int] = []
        self._checkpoints: list[Checkpoint] = []

    def __len__(self) -> int:
        return len(self._tokens)

    def reusable(self, prompt: Sequence[int]) -> int:
        """Return how many tokens of a prompt lie in the cache (whether they can be kept is
        known only when it is cut).
        """
        return min(common_prefix(self._tokens, prompt), max(0, len(prompt) - 1))

    def prepare(self, prompt: Sequence[int]) -> Reuse:
        """Cut the memory back to what the prompt shares with it.

        At least the last token of a prompt is evaluated: its logits are needed.
        """
        shared = common_prefix(self._tokens, prompt)
        keep = min(shared, max(0, len(prompt) - 1))
        difference = shared if shared < len(self._tokens) and shared < len(prompt) else None
        if keep == len(self._tokens):
            return Reuse(keep, None, None)
        kept, note = self._cut(keep)
        self._tokens = self._tokens[:kept]
        self._checkpoints = [point for point in self._checkpoints if point.tokens <= kept]
        return Reuse(kept, difference, note)

    def _cut(self, keep: int) -> tuple[int, str | None]:
        model = self._model
        if keep == 0:
            model.clear()
            return 0, None
        if model.memory == "plain" and model.cut(keep):
            return keep, None
        if model.memory == "sliding":
            # The window before the cut must still be there, or attention would miss tokens.
            if model.oldest_position() <= max(0, keep - model.info.swa_window) and model.cut(keep):
                return keep, None
            why = "the sliding-window cache has forgotten the tokens before the change"
        else:
            why = "this model's recurrent state can't be cut back"
        for point in sorted(self._checkpoints, key=lambda point: -point.tokens):
            if point.tokens <= keep and model.restore(point):
                note = None if point.tokens == keep else f"{why}; a checkpoint was used"
                return point.tokens, note
        model.clear()
        return 0, f"{why}, so the whole prompt is evaluated again"

    def extend(self, tokens: Sequence[int]) -> None:
        """Count tokens that were evaluated."""
        self._tokens.extend(tokens)

    @property
    def wants_checkpoint(self) -> bool:
        """Tell whether this memory needs checkpoints to go back."""
        return self._model.memory not in {"plain", "none"}

    def take_checkpoint(self) -> None:
        """Keep the state as it is now, dropping the oldest ones past the limits."""
        here = len(self._tokens)
        if any(point.tokens == here for point in self._checkpoints):
            return
        point = self._model.checkpoint(here)
        if point is None:
            return
        self._checkpoints.append(point)
        while len(self._checkpoints) > _MAX_CHECKPOINTS or (
            len(self._checkpoints) > 1
            and sum(len(point.data) for point in self._checkpoints) > _MAX_CHECKPOINT_BYTES
        ):
            self._checkpoints.pop(0)

    def resync(self) -> None:
        """After an aborted evaluation: drop what may be half there."""
        if not self._tokens:
            self._model.clear()
        elif not self._model.cut(len(self._tokens)):
            self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._model.clear()
        self._tokens = []
        self._checkpoints = []
