"""From a rendered prompt to tokens, without tokenising again what was tokenised a turn ago.

The template's scaffold is tokenised with its special tokens, message content without: a typed turn
marker stays text. Replies keep the tokens they were generated with, because tokenising their text
again can give others, and the cache behind them would be lost.

A prompt is cut before each special token of the scaffold. llama.cpp tokenises the texts between
special tokens apart from each other, so the parts' tokens are the whole's, and those of the turns
before are remembered: the cost of a turn is that of its own text.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from app.engine.interface import Vocabulary
from app.engine.templates.protect import Piece, split_protected

__all__ = ["PromptTokens", "Tokenised"]

_REMEMBERED_REPLIES: Final = 256
_REMEMBERED_CHARS: Final = 8_000_000  # of scaffold and content: some conversations


@dataclass(frozen=True, slots=True)
class Tokenised:
    """Tokens of a prompt. The last ``open_tokens`` of them are ``open_text``, which stands after
    the last special token.
    """

    tokens: list[int]
    open_text: str = ""
    open_tokens: int = 0


class PromptTokens:
    """Tokenises prompts of one model.

    Args:
        vocab: the model's.
        dangerous: texts of tokens that must not be made by what people type.
        broken: those of them that llama.cpp matches in any text, and that are cut in two for that.
    """

    def __init__(
        self, vocab: Vocabulary, dangerous: Collection[str], broken: Collection[str]
    ) -> None:
        self._vocab = vocab
        self._dangerous = dangerous
        self._broken = (
            re.compile("|".join(re.escape(text) for text in sorted(broken, key=len)[::-1]))
            if broken
            else None
        )
        self._replies: OrderedDict[str, tuple[int, ...]] = OrderedDict()
        self._parts: OrderedDict[str, list[int]] = OrderedDict()
        self._part_chars = 0

    def of(self, rendered: str) -> Tokenised:
        """Return the tokens of a rendered prompt, with the marks of `protect` in it."""
        tokens: list[int] = []
        run: list[str] = []  # pieces that llama.cpp must see together

        def flush() -> None:
            if run:
                tokens.extend(self._part("".join(run)))
                run.clear()

        pieces = split_protected(rendered, self._dangerous)
        open_piece = pieces.pop() if pieces and not pieces[-1].special else None
        for piece in pieces:
            own = None if piece.special else self._own(piece)
            if own is not None:
                flush()
                tokens.extend(own)
                continue
            if piece.special and piece.text not in self._vocab.strips_left:
                flush()
            run.append(piece.text)
        flush()
        if open_piece is None:
            return Tokenised(self._vocab.with_bos(tokens))
        own = self._own(open_piece)
        if own is None:
            own = self._part(open_piece.text)
        tokens.extend(own)
        return Tokenised(self._vocab.with_bos(tokens), open_piece.text, len(own))

    def remember_reply(self, opened: Tokenised, text: str, tokens: Sequence[int]) -> None:
        """Keep a reply's own tokens for the prompts that will contain it.

        In those it stands in one piece with what its prompt left open ("assistant", a new line).
        """
        if not tokens or not text:
            return
        before = opened.tokens[len(opened.tokens) - opened.open_tokens :]
        key = opened.open_text + text
        self._replies[key] = (*before, *tokens)
        self._replies.move_to_end(key)
        while len(self._replies) > _REMEMBERED_REPLIES:
            self._replies.popitem(last=False)

    def _part(self, text: str) -> list[int]:
        """Return the tokens of a part of the scaffold, and of what stands in it unprotected."""
        known = self._parts.get(text)
        if known is not None:
            self._parts.move_to_end(text)
            return known
        tokens = self._vocab.tokenize(text, parse_special=True)
        self._parts[text] = tokens
        self._part_chars += len(text)
        while self._part_chars > _REMEMBERED_CHARS and len(self._parts) > 1:
            oldest, _ = self._parts.popitem(last=False)
            self._part_chars -= len(oldest)
        return tokens

    def _own(self, piece: Piece) -> Sequence[int] | None:
        """Return the tokens of a piece that must not be tokenised with its neighbours."""
        if piece.protected:
            return self._content(piece.text)
        return self._replies.get(piece.text)

    def _content(self, text: str) -> list[int]:
        """Tokenise text in which somebody typed special tokens: as plain text.

        llama.cpp matches user-defined tokens even then; those of the template are cut in two.
        """
        if self._broken is None:
            return self._vocab.tokenize(text, parse_special=False)
        tokens: list[int] = []
        start = 0
        for match in self._broken.finditer(text):
            middle = match.start() + 1
            tokens.extend(self._vocab.tokenize(text[start:middle], parse_special=False))
            start = middle
        tokens.extend(self._vocab.tokenize(text[start:], parse_special=False))
        return tokens
