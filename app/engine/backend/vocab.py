"""Tokens and texts of a loaded model."""

from __future__ import annotations

import ctypes
from typing import Any

from app.engine.backend.library import lib

__all__ = ["LlamaVocabulary"]

_ATTR_UNKNOWN = 1 << 0
_ATTR_CONTROL = 1 << 3
_ATTR_USER_DEFINED = 1 << 4
_ATTR_STRIPS_LEFT = 1 << 7
_NO_TOKEN = -1


class LlamaVocabulary:
    """`Vocabulary` over llama.cpp's own tokenizer."""

    def __init__(self, model: Any) -> None:
        self._vocab = lib.llama_model_get_vocab(model)
        self.size = lib.llama_vocab_n_tokens(self._vocab)
        self._pieces: dict[int, bytes] = {}
        self._bos = lib.llama_vocab_bos(self._vocab)
        self._add_bos = bool(lib.llama_vocab_get_add_bos(self._vocab)) and self._bos != _NO_TOKEN
        self.specials: dict[str, int] = {}
        self.user_defined: dict[str, int] = {}
        self.strips_left: set[str] = set()
        self._control: set[int] = set()
        self._collect_specials()
        self.bos_text = self._text(self._bos)
        self.eos_text = self._text(lib.llama_vocab_eos(self._vocab))

    @property
    def handle(self) -> Any:
        """llama.cpp's vocabulary, for samplers."""
        return self._vocab

    def _collect_specials(self) -> None:
        attributes_of = lib.llama_vocab_get_attr
        vocab = self._vocab
        wanted = _ATTR_CONTROL | _ATTR_UNKNOWN | _ATTR_USER_DEFINED
        for token in range(self.size):
            attributes = attributes_of(vocab, token)
            if not attributes & wanted:
                continue
            if attributes & (_ATTR_CONTROL | _ATTR_UNKNOWN):
                self._control.add(token)
            text = self._text(token)
            if text:
                kept = self.user_defined if attributes & _ATTR_USER_DEFINED else self.specials
                kept[text] = token
                if attributes & _ATTR_STRIPS_LEFT:
                    self.strips_left.add(text)

    def _text(self, token: int) -> str:
        if token == _NO_TOKEN:
            return ""
        text = lib.llama_vocab_get_text(self._vocab, token)
        return text.decode("utf-8", "replace") if text else ""

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        """Return the tokens of a text; nothing is added at its ends."""
        data = text.encode("utf-8", "replace")
        if not data:
            return []
        room = len(data) + 8
        buffer = (lib.llama_token * room)()
        count = lib.llama_tokenize(self._vocab, data, len(data), buffer, room, False, parse_special)
        if count < 0:
            buffer = (lib.llama_token * -count)()
            count = lib.llama_tokenize(
                self._vocab, data, len(data), buffer, -count, False, parse_special
            )
        return list(buffer[:count])

    def with_bos(self, tokens: list[int]) -> list[int]:
        """Return the tokens with exactly one BOS in front if the vocabulary wants one.

        Templates often write BOS themselves; two of them make replies worse.
        """
        if not self._add_bos:
            return tokens
        start = 0
        while start < len(tokens) and tokens[start] == self._bos:
            start += 1
        return [self._bos, *tokens[start:]]

    def piece(self, token: int) -> bytes:
        """Return a token's bytes, special ones spelled out."""
        known = self._pieces.get(token)
        if known is not None:
            return known
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = lib.llama_token_to_piece(self._vocab, token, buffer, size, 0, True)
            if length >= 0:
                break
            size = -length
        piece = buffer.raw[:length]
        self._pieces[token] = piece
        return piece

    def is_control(self, token: int) -> bool:
        """Tell whether a token is markup that no reader should see."""
        return token in self._control

    def is_end(self, token: int) -> bool:
        """Tell whether llama.cpp counts a token among the ends of a generation."""
        return bool(lib.llama_vocab_is_eog(self._vocab, token))
