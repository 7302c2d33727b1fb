"""Tokens of growing prompts as the program makes them, beside those of the whole text in one go.

A child process asks llama.cpp for both, and counts the characters that the program had tokenised.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["TokenisedTwice", "tokenise_twice"]


@dataclass(frozen=True, slots=True)
class TokenisedTwice:
    """Tokens by the program and in one go; ``asked_chars`` went through the tokenizer for them."""

    own: list[int]
    whole: list[int]
    asked_chars: int


def tokenise_twice(model: Path, prompts: list[str]) -> list[TokenisedTwice]:
    """Tokenise prompts one after another, as the turns of a chat are."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.whole_tokens"],
        input=json.dumps({"model": str(model), "prompts": prompts}),
        text=True,
        check=True,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    return [TokenisedTwice(**one) for one in json.loads(done.stdout)]


class _Counting:
    """A vocabulary that counts what it is asked for."""

    def __init__(self, vocab: Any) -> None:
        self._vocab = vocab
        self.chars = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vocab, name)

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        self.chars += len(text)
        tokens: list[int] = self._vocab.tokenize(text, parse_special=parse_special)
        return tokens


def _main() -> None:
    from app.engine.backend.engine import LlamaEngine
    from app.engine.protocol import LoadOptions
    from app.engine.tokenising import PromptTokens

    asked = json.load(sys.stdin)
    model: Any = LlamaEngine(()).load(
        asked["model"], LoadOptions(n_ctx=256, threads=1, compatibility=True), lambda _part: True
    )
    vocab: Any = _Counting(model.vocab)
    own = PromptTokens(vocab, frozenset(vocab.specials), ())
    answers = []
    for prompt in asked["prompts"]:
        vocab.chars = 0
        tokens = own.of(prompt).tokens
        whole = model.vocab.with_bos(model.vocab.tokenize(prompt, parse_special=True))
        answers.append({"own": tokens, "whole": whole, "asked_chars": vocab.chars})
    model.close()
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    _main()
