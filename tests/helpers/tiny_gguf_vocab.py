"""Small but whole vocabularies in the two styles that matter: byte-level BPE and SentencePiece.

Every byte has a token, so any text can be tokenised; the special tokens of common chat formats
are there with their right types.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from tests.helpers.gguf_bytes import GgufBuilder

__all__ = ["CHATML", "Vocabulary", "VocabularyStyle", "make_vocabulary", "padded"]

VocabularyStyle: TypeAlias = Literal["bpe", "spm"]

CHATML: Final = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6
_SPECIAL: Final = (
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<start_of_turn>",
    "<end_of_turn>",
)
_TAGS: Final = ("<think>", "</think>")
_WORDS: Final = (
    "the",
    " the",
    " a",
    " and",
    " of",
    " to",
    "Hello",
    " world",
    "user",
    "assistant",
    "system",
    " ship",
    " sea",
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Tokens as the file lists them, with what the tokenizer needs beside them."""

    style: VocabularyStyle
    tokens: tuple[str, ...]
    types: tuple[int, ...]
    scores: tuple[float, ...]
    merges: tuple[str, ...]
    bos: int
    eos: int

    def index(self, text: str) -> int:
        """Return the token of a text as people write it."""
        return self.tokens.index(_listed(self.style, text) if text not in self.tokens else text)

    def add_to(self, builder: GgufBuilder, end_token: str | None = None) -> None:
        """Add the tokenizer's keys; ``end_token`` names another end than the style's."""
        builder.text("tokenizer.ggml.model", "gpt2" if self.style == "bpe" else "llama")
        if self.style == "bpe":
            builder.text("tokenizer.ggml.pre", "gpt-2")
        builder.key("tokenizer.ggml.tokens", "[str]", self.tokens)
        builder.key("tokenizer.ggml.token_type", "[i32]", self.types)
        if self.style == "bpe":
            builder.key("tokenizer.ggml.merges", "[str]", self.merges)
        else:
            builder.key("tokenizer.ggml.scores", "[f32]", self.scores)
            builder.u32("tokenizer.ggml.unknown_token_id", 0)
        eos = self.eos if end_token is None else self.index(end_token)
        builder.u32("tokenizer.ggml.bos_token_id", self.bos)
        builder.u32("tokenizer.ggml.eos_token_id", eos)
        builder.key("tokenizer.ggml.add_bos_token", "bool", self.style == "spm")


def make_vocabulary(style: VocabularyStyle, extra: tuple[str, ...] = ()) -> Vocabulary:
    """Return a vocabulary that has the ``extra`` texts as single tokens."""
    special = [*_SPECIAL, *(text for text in extra if text.startswith("<|"))]
    tags = [*_TAGS]
    words = [text for text in (*_WORDS, *extra) if not text.startswith("<|") and text not in _TAGS]
    return _bpe(special, tags, words) if style == "bpe" else _spm(special, tags, words)


def padded(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """Return a vocabulary of at least ``size`` tokens; no text is cut into the added words."""
    missing = max(0, size - len(vocabulary.tokens))
    least = min(vocabulary.scores, default=0.0)
    return replace(
        vocabulary,
        tokens=(*vocabulary.tokens, *(f"Ġw{index:x}" for index in range(missing))),
        types=(*vocabulary.types, *[_NORMAL] * missing),
        scores=(*vocabulary.scores, *[least - 1] * missing) if vocabulary.scores else (),
    )


def _byte_letters() -> dict[int, str]:
    """Return the printable letter that stands for each byte in a byte-level vocabulary."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in kept}
    spare = 0
    for byte in range(256):
        if byte not in letters:
            letters[byte] = chr(256 + spare)
            spare += 1
    return letters


_LETTERS: Final = _byte_letters()


def _listed(style: VocabularyStyle, text: str) -> str:
    if style == "bpe":
        return "".join(_LETTERS[byte] for byte in text.encode())
    return text.replace(" ", "▁")


def _bpe(special: list[str], tags: list[str], words: list[str]) -> Vocabulary:
    tokens = [_LETTERS[byte] for byte in range(256)]
    merges: list[str] = []
    for word in words:
        parts = list(_listed("bpe", word))
        built = parts[0]
        for part in parts[1:]:
            merge = f"{built} {part}"
            built += part
            if merge not in merges:
                merges.append(merge)
            if built not in tokens:
                tokens.append(built)
    types = [_NORMAL] * len(tokens)
    for text, kind in [*((t, _CONTROL) for t in special), *((t, _USER_DEFINED) for t in tags)]:
        if text not in tokens:
            tokens.append(text)
            types.append(kind)
    return Vocabulary(
        style="bpe",
        tokens=tuple(tokens),
        types=tuple(types),
        scores=(),
        merges=tuple(merges),
        bos=tokens.index("<|endoftext|>"),
        eos=tokens.index("<|im_end|>"),
    )


def _spm(special: list[str], tags: list[str], words: list[str]) -> Vocabulary:
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    types = [_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256]
    for text, kind in [*((t, _CONTROL) for t in special), *((t, _USER_DEFINED) for t in tags)]:
        if text not in tokens:
            tokens.append(text)
            types.append(kind)
    # SentencePiece builds words of pairs, so every beginning of a word is a piece of its own.
    for word in [*map(chr, range(32, 127)), *words]:
        listed = _listed("spm", word)
        for end in range(1, len(listed) + 1):
            if listed[:end] not in tokens:
                tokens.append(listed[:end])
                types.append(_NORMAL)
    scores = [-float(len(tokens) - len(text)) / 10 for text in tokens]
    return Vocabulary(
        style="spm",
        tokens=tuple(tokens),
        types=tuple(types),
        scores=tuple(scores),
        merges=(),
        bos=1,
        eos=2,
    )
