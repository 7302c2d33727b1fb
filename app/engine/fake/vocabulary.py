"""Tokens of the fake engine: numbers for the pieces of text that it meets, and scripted draws."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["FakeSampler", "FakeVocabulary"]

_SPECIALS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
_END = 1
_WORDS = re.compile(r"\s?\S{1,6}|\s")


class FakeVocabulary:
    """Gives every piece of text it meets a number."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = [text.encode() for text in _SPECIALS]
        self._ids: dict[bytes, int] = {piece: i for i, piece in enumerate(self._pieces)}
        self.specials: Mapping[str, int] = {text: i for i, text in enumerate(_SPECIALS)}
        self.user_defined: Mapping[str, int] = {}
        self.strips_left: frozenset[str] = frozenset()
        self.bos_text = ""
        self.eos_text = "<|im_end|>"
        self._split = re.compile("(" + "|".join(re.escape(text) for text in _SPECIALS) + ")")

    def token(self, piece: bytes) -> int:
        """Return the number of a piece that is no special token, even if it looks like one."""
        known = self._ids.get(piece)
        if known is None or known < len(_SPECIALS):
            known = len(self._pieces)
            self._pieces.append(piece)
            self._ids[piece] = known
        return known

    def words(self, text: str) -> list[int]:
        """Return the numbers of a text cut into short words."""
        return [self.token(word.encode("utf-8", "replace")) for word in _WORDS.findall(text)]

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        """Return the tokens of a text."""
        if not parse_special:
            return self.words(text)
        tokens: list[int] = []
        for part in self._split.split(text):
            if part in self.specials:
                tokens.append(self.specials[part])
            elif part:
                tokens.extend(self.words(part))
        return tokens

    def with_bos(self, tokens: list[int]) -> list[int]:
        """Return the tokens as they are: there is no BOS."""
        return tokens

    def piece(self, token: int) -> bytes:
        """Return a token's bytes."""
        return self._pieces[token]

    def is_control(self, token: int) -> bool:
        """Tell whether a token is markup."""
        return token < len(_SPECIALS)

    def is_end(self, token: int) -> bool:
        """Tell whether a token ends a reply."""
        return token in {1, 2}


class FakeSampler:
    """`Sampler` that gives the tokens of a reply."""

    def __init__(self, tokens: Sequence[int], *, repeat: bool) -> None:
        self._tokens = tokens
        self._repeat = repeat
        self._next = 0

    def sample(self, row: int = -1) -> int:
        """Return the next token of the reply, its end after the last."""
        if self._next >= len(self._tokens):
            if not self._repeat:
                return _END
            self._next = 0
        token = self._tokens[self._next]
        self._next += 1
        return token

    def close(self) -> None:
        """Give the tokens back."""
        self._tokens = ()
