"""Defects of the engine's side: cache, prompt, reply, protocol, death."""

from __future__ import annotations

from typing import Final

from tests.defects.defect import Defect

__all__ = ["DEFECTS"]

_CONTRACT: Final = "tests/app/engine/test_contract.py"
_FIT: Final = ("tests/app/engine/test_fit.py",)

DEFECTS: Final = (
    Defect(
        "cache reuse off by one",
        "app/engine/cache.py",
        "keep = min(shared, max(0, len(prompt) - 1))",
        "keep = min(shared + 1, max(0, len(prompt) - 1))",
        (_CONTRACT, "tests/app/engine/test_real_engine.py"),
    ),
    Defect(
        "a prompt that lies in the cache as a whole has no logits",
        "app/engine/cache.py",
        "keep = min(shared, max(0, len(prompt) - 1))",
        "keep = shared",
        (_CONTRACT, "tests/app/engine/test_real_engine.py"),
    ),
    Defect(
        "the common prefix ends too late",
        "app/engine/cache.py",
        "            low = middle\n        else:\n            high = middle\n    return low",
        "            low = middle\n        else:\n            high = middle\n    return high",
        ("tests/app/engine/test_cache.py",),
    ),
    Defect(
        "a sliding window is cut back to what it has forgotten",
        "app/engine/cache.py",
        "if model.oldest_position() <= max(0, keep - model.info.swa_window) and model.cut(keep):",
        "if model.cut(keep):",
        ("tests/app/engine/test_real_memory.py",),
    ),
    Defect(
        "prefill counted with reused tokens",
        "app/engine/reply.py",
        "        evaluated_tokens=evaluated,",
        "        evaluated_tokens=len(prompt),",
        (_CONTRACT, "tests/app/engine/test_real_engine.py"),
    ),
    Defect(
        "the first token counts as decoded",
        "inspector/records.py",
        "return (self.reply_tokens - 1) / self.decode_s",
        "return self.reply_tokens / self.decode_s",
        ("tests/inspector/test_records.py",),
    ),
    Defect(
        "a reply is one token too long",
        "app/engine/reply.py",
        "if self._limit is not None and len(self.tokens) >= self._limit:",
        "if self._limit is not None and len(self.tokens) > self._limit:",
        (_CONTRACT,),
    ),
    Defect(
        "the end of the window is passed",
        "app/engine/reply.py",
        "        if position >= self._n_ctx:",
        "        if position > self._n_ctx + 1:",
        ("tests/app/engine/test_real_memory.py",),
    ),
    Defect(
        "stop is not heard while a prompt is read",
        "app/engine/generation.py",
        "            if self._stopped():\n                return done",
        "            if False:\n                return done",
        ("tests/app/engine/test_generation.py",),
    ),
    Defect(
        "several replies have the same seed",
        "app/engine/generation.py",
        "seed=(sampling.seed + number) % (1 << 32)",
        "seed=sampling.seed",
        ("tests/app/engine/test_several_replies.py",),
    ),
    Defect(
        "wrong guesses of a draft stay in the cache",
        "app/engine/generation.py",
        "            cache.extend(batch[: row + 1])",
        "            cache.extend(batch)",
        ("tests/app/engine/test_drafting.py",),
    ),
    Defect(
        "characters split over tokens are dropped",
        "app/engine/text/utf8.py",
        "return self._decoder.decode(piece)",
        'return piece.decode("utf-8", "ignore")',
        ("tests/app/engine/test_text_utf8.py",),
    ),
    Defect(
        "a stop string leaks",
        "app/engine/text/stops.py",
        "return _cut(held, at)[0]",
        "return _cut(held, at + 1)[0]",
        ("tests/app/engine/test_text_stops.py",),
    ),
    Defect(
        "a stop string that spans tokens is missed",
        "app/engine/text/stops.py",
        "for at in range(max(0, len(text) - self._longest + 1), len(text)):",
        "for at in range(len(text), len(text)):",
        ("tests/app/engine/test_text_stops.py",),
    ),
    Defect(
        "a user's stop string cuts reasoning",
        "app/engine/text/reply.py",
        'released = self._stops.feed(s for stream, s in spoken if stream == "answer")',
        "released = self._stops.feed(s for _stream, s in spoken)",
        ("tests/app/engine/test_text_reply.py",),
    ),
    Defect(
        "the system prompt is left out first",
        "app/engine/fit.py",
        "kept = [*self._messages[: self._head], *self._messages[self._starts[cut] :]]",
        "kept = [*self._messages[self._starts[cut] :]]",
        _FIT,
    ),
    Defect(
        "no room is left for the reply",
        "app/engine/fit.py",
        "limit = n_ctx - room",
        "limit = n_ctx",
        _FIT,
    ),
    Defect(
        "what does not fit is cut without being asked",
        "app/engine/fit.py",
        '    if not trim:\n        return result(0, "does_not_fit")\n',
        "",
        _FIT,
    ),
    Defect(
        "what is left out is not told",
        "app/engine/fit.py",
        "return tuple(m.id for m in self._messages[self._head : self._starts[cut]])",
        "return ()",
        _FIT,
    ),
    Defect(
        "a line that is too long is taken",
        "app/engine/protocol/lines.py",
        "if self._held_bytes > self._limit_bytes:",
        "if self._held_bytes > 2 * self._limit_bytes:",
        ("tests/app/engine/test_protocol.py",),
    ),
    Defect(
        "a line that spans reads loses its beginning",
        "app/engine/protocol/lines.py",
        'lines = [b"".join(self._parts), *middle]',
        "lines = [head, *middle]",
        ("tests/app/engine/test_protocol.py",),
    ),
    Defect(
        "KL in the wrong direction",
        "app/engine/scoring.py",
        "kl = np.maximum((probabilities * (there - expected)).sum(axis=1), 0.0)",
        "kl = np.maximum((np.exp(expected) * (expected - there)).sum(axis=1), 0.0)",
        ("tests/app/engine/test_scoring.py",),
    ),
    Defect(
        "a standard error for a sample that is one too large",
        "inspector/compare/statistics.py",
        "error=math.sqrt(variance / (count - 1))",
        "error=math.sqrt(variance / count)",
        ("tests/inspector/compare/test_statistics.py",),
    ),
    Defect(
        "an illegal instruction starts the engine again and again",
        "app/engine/outcome.py",
        "        if not compatibility:\n            return Recovery(\n                True,",
        "        if True:\n            return Recovery(\n                True,",
        ("tests/app/engine/test_outcome.py",),
    ),
    Defect(
        "a shortage of memory loads the model again",
        "app/engine/outcome.py",
        "    if end.out_of_memory:\n        return Recovery(\n            False,",
        "    if end.out_of_memory:\n        return Recovery(\n            True,",
        ("tests/app/engine/test_outcome.py",),
    ),
    Defect(
        "a chat template makes text without end",
        "app/engine/templates/environment.py",
        "        if left_bytes < 0:",
        "        if left_bytes < -(1 << 60):",
        ("tests/app/engine/test_template_environment.py",),
    ),
)
