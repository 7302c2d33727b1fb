"""Which model a file is a variant of: from its metadata first, then from its name.

Two files are variants of one model when they name it with the same words, in any order and
spelling: makers of quantised files write "Llama 3.1 8B Instruct", "Meta-Llama-3.1-8B-Instruct"
and "llama3.1:8b-instruct" for one model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gguf_tools.facts import ModelFacts
from gguf_tools.header import Header
from gguf_tools.naming import parse_file_name, size_label

__all__ = ["Identity", "identity_of", "identity_of_name", "named_bases", "words_of"]

_SEPARATORS: Final = re.compile(r"[^0-9a-zA-Z\u0080-\U0010ffff]+")
# "llama3" is "llama 3", but "8b", "a3b" and "v2" are words of their own.
_NAME_AND_NUMBER: Final = re.compile(r"(?<=[a-z]{3})(?=\d)")
# Say who made or packed a file, not which model it is.
_NOISE: Final = frozenset({"gguf", "ggml", "hf", "meta", "model", "i1", "imatrix", "latest"})
_MAX_BASES: Final = 8


@dataclass(frozen=True, slots=True)
class Identity:
    """The name of a model to show, and the key that its variants share."""

    title: str
    group: str


def words_of(text: str) -> frozenset[str]:
    """Return the words of a model's name that tell it from other models."""
    found: set[str] = set()
    for word in _SEPARATORS.split(text.casefold()):
        found.update(_NAME_AND_NUMBER.split(word))
    return frozenset(found - _NOISE - {""})


def identity_of(facts: ModelFacts, given_name: str = "") -> Identity:
    """Return the identity of a model whose header was read.

    ``given_name`` is what another program calls it; it counts where the metadata has no name.
    """
    header = facts.header
    named = bool(header.text("general.name") or header.text("general.basename"))
    title = facts.name
    if given_name and not named:
        title = given_name.partition(":")[0]
    words = words_of(parse_file_name(title).base if not named else title)
    if named:
        for key in ("general.finetune", "general.size_label"):
            words |= words_of(header.text(key) or "")
    if not any(word in words for word in words_of(size_label(header) or "")):
        words |= words_of(size_label(header) or "")
    return Identity(title, _key(facts.architecture, words))


def identity_of_name(name: str) -> Identity:
    """Return the identity of a file whose header can't be read."""
    base = parse_file_name(name).base
    return Identity(base, _key(None, words_of(base)))


def named_bases(facts: ModelFacts) -> tuple[str, ...]:
    """Return what a projector or an adapter says of the models that it was made for."""
    if facts.kind not in {"projector", "adapter"}:
        return ()
    header = facts.header
    count = min(header.integer("general.base_model.count") or 0, _MAX_BASES)
    bases = [_base(header, number) for number in range(count)]
    own = header.text("general.basename") or header.text("general.name") or ""
    label = header.text("general.size_label") or ""
    finetune = header.text("general.finetune") or ""
    bases.append(" ".join(part for part in (own, label, finetune) if part))
    return tuple(base for base in bases if base)


def _base(header: Header, number: int) -> str:
    key = f"general.base_model.{number}."
    url = (header.text(key + "repo_url") or "").rstrip("/")
    return header.text(key + "name") or url.rpartition("/")[2]


def _key(architecture: str | None, words: frozenset[str]) -> str:
    return f"{architecture or '?'}|{'-'.join(sorted(words))}"
