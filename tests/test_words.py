"""One word for one thing: every text that people read, in the window and on the command line.

The list below is the vocabulary. A text that means a thing by another word fails, with the word to
use. Names of commands, files and formats of other programs are no texts of ours.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

_ROOT: Final = Path(__file__).parents[1]
_WHERE: Final = ("app/ui", "app/cli", "app/settings", "app/engine", "inspector", "gguf_tools")

WORDS: Final = (
    # what is used instead of, a pattern of what is not used, and why
    (r"\bconversations?\b", "chat", "what is kept, listed and answered"),
    (r"\bresponses?\b", "reply", "what a model writes"),
    (
        r"\b(the|an|its|no|longest|other|each|reference's) answers?\b|\banswers (are|get|of)\b",
        "reply",
        "what a model writes; to answer is what it does",
    ),
    (r"\bversions? at once\b|\bin several versions\b", "replies", "a version is an alternative"),
    (r"\bsequences?\b", "chats or replies at once", "a word of the engine"),
    (
        (
            r"(?<!sliding[- ])\b(model's|context|of a|left the|whole|beyond the|full) window\b"
            r"|\b(tokens of|only|with) (the|a|its) window\b|(?<!sliding )\bwindow of \d"
            r"|\bwindow is (full|long|short|small)"
        ),
        "context",
        "the window is the program's",
    ),
    (r"\bopen (this|that|the|a|another) model\b", "load", "files and pages are opened"),
    (r"\bquants?\b", "variant or type", "one file of a model; the type of its weights"),
    (r"\bquantiz\w+", "quantis…", "British spelling"),
    (r"\b(color|behavior|gray|center|optimiz\w+|recogniz\w+)\b", "colour…", "British spelling"),
    (r"\b(key-value|K/V|k-v) cache\b", "KV cache", "the field's term"),
    (r"\bprompt (processing|evaluation|eval)\b", "prefill", "the field's term"),
    (
        r"\b(token )?generation (speed|rate)\b|\bgenerated tokens\b|\bgenerating\b",
        "decode",
        "the field's term",
    ),
    (r"\b(tokens?/s(ec)?|t/s|tps)\b", "tok/s or tokens per second", "one unit"),
    (r"\bmicro ?batch\b", "micro-batch", "one spelling"),
    (r"\boff-load", "offload", "one spelling"),
    (r"\b(checkpoint|weights) files?\b", "model or file", "what is loaded"),
    (r"\b(LLM|AI)s?\b", "model", "plain words"),
    (r"\b(please|sorry|oops)\b", "a sentence that says what to do", "plain words"),
    (r"\b(laptop|desktop|PC)\b", "computer", "what the program runs on"),
)

ALLOWED: Final = (
    "quantize",  # the command
    "plimsoll quantize",
    "conversations.json",  # a file of another program
    "conversation file of LM Studio",
    "--sequences",
    "LLM_",  # names of environment variables and of llama.cpp
)

_TEXTS: Final = frozenset(
    {"Refusal", "tr", "_tr", "translate", "say", "_say", "note", "told", "fill", "filled", "Phrase"}
    | {
        "ModelRow",
        "Setting",
        "_own",
        "ActionSpec",
        "Control",
        "Choice",
        "Notice",
        "Command",
        "Finding",
        "Fix",
    }
    | {"FixRecord", "FindingRecord", "Segment", "MessageView", "ValueError", "EngineFailure"}
)
_HELP: Final = frozenset({"help", "description", "epilog", "label", "text", "title", "tooltip"})


def _constants(node: ast.AST) -> Iterator[tuple[int, str]]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.lineno, part.value


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the texts that are handed to what translates, shows or prints them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in _TEXTS:
                for argument in node.args:
                    yield from _constants(argument)
            for keyword in node.keywords:
                if keyword.arg in _HELP:
                    yield from _constants(keyword.value)


def _faults(text: str) -> list[str]:
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    return [
        f"{found[0]!r}: say {better} ({why})"
        for pattern, better, why in WORDS
        if (found := re.search(pattern, text, re.IGNORECASE))
    ]


def _is_sentence(text: str) -> bool:
    """Tell a text for people from a key: it has a space, or begins like a sentence."""
    return " " in text or text[:1].isupper()


@pytest.mark.parametrize("where", _WHERE)
def test_texts_use_one_word_for_one_thing(where: str) -> None:
    faults = []
    read = 0
    for path in sorted((_ROOT / where).rglob("*.py")):
        for line, text in _texts(ast.parse(path.read_text("utf-8"))):
            if _is_sentence(text):
                read += 1
                faults += [f"{path.relative_to(_ROOT)}:{line}: {word}" for word in _faults(text)]
    assert read > 20
    assert not faults, "\n".join(faults)


def _all_texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every text with a space that is no docstring, whatever it is handed to."""
    lone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in lone:
            continue
        if isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


_BARE_WINDOW: Final = re.compile(r"(?<!sliding[- ])\bwindows?\b", re.IGNORECASE)


@pytest.mark.parametrize("where", ["inspector", "gguf_tools", "app/engine"])
def test_what_knows_no_window_of_the_program_says_context_or_sliding_window(where: str) -> None:
    read, faults = 0, []
    for path in sorted((_ROOT / where).rglob("*.py")):
        for line, text in _all_texts(ast.parse(path.read_text("utf-8"))):
            read += 1
            if _BARE_WINDOW.search(text):
                faults.append(f"{path.relative_to(_ROOT)}:{line}: {text!r}")
    assert read > 100
    assert not faults, "\n".join(faults)


def test_help_of_every_command_uses_the_same_words() -> None:
    from app.cli import COMMANDS, parser_for

    faults = {
        command.name: words
        for command in COMMANDS
        if command.name != "self-test"
        and (words := _faults(" ".join(parser_for(command).format_help().split())))
    }
    assert faults == {}


def test_declared_settings_use_the_same_words() -> None:
    from app.settings import TABLE

    faults = {
        setting.key: words
        for setting in TABLE
        for text in (setting.label, setting.help, setting.none_label or "", *dict(setting.choices))
        if (words := _faults(text))
    }
    assert faults == {}


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("Export this conversation", "chat"),
        ("The response was cut", "reply"),
        ("The answer was cut", "reply"),
        ("Tokens of the context window", "context"),
        ("The window is longer than the ", "context"),
        (" tokens of the window are taken.", "context"),
        ("weights, and the cache when the window is full", "context"),
        ("Keep only the window", "context"),
        (", 4 with a window of 512 tokens", "context"),
        ("Open this model", "load"),
        ("Choose a quant", "variant"),
        ("Quantization", "quantis"),
        ("12 tokens/s", "tok/s"),
        ("2 sequences", "replies"),
    ],
)
def test_the_list_finds_what_it_is_for(text: str, better: str) -> None:
    (fault,) = _faults(text)
    assert better in fault


@pytest.mark.parametrize(
    "text",
    [
        "They answer one after another.",
        "Full sliding-window cache",
        "Keep only the sliding window",
        ", 4 with a sliding window of 512 tokens",
        "another program than the window",
        "The window is open already.",
        "Colours of the window.",
        "Open a GGUF file…",
        "Show another version",
        "ChatGPT's conversations.json",
    ],
)
def test_the_list_leaves_alone_what_is_meant_otherwise(text: str) -> None:
    assert _faults(text) == []


_COUNTED: Final = re.compile(
    r" (token|thread|layer|file|variant|chat|model|run|message|device|repl(y|ie))s\b"
    r"(?! (share|each|at|to be|match|before|can't|lie|were|are|is|fit|need))"
)
_WHOLES: Final = ("of ", "most ", "more than ", "All ", "'s ")  # "1 of 31 layers"
_NEVER_ONE: Final = re.compile(
    r"context|n_ctx|trained|window|sliding|cells|budget|breaks|per_step|\bone\b|cpu|model\.layers"
)


def _bare_counts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield where a count stands before a noun that is always in the plural."""
    chosen = {  # where the text for one is another
        id(text)
        for node in ast.walk(tree)
        if isinstance(node, ast.IfExp)
        for text in (node.body, node.orelse)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr) or id(node) in chosen:
            continue
        parts = node.values
        for index in range(len(parts) - 1):
            value, after = parts[index], parts[index + 1]
            before = parts[index - 1] if index else None
            if not isinstance(value, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            told = before.value if isinstance(before, ast.Constant) else ""
            if str(told).endswith(_WHOLES) or _NEVER_ONE.search(ast.unparse(value.value)):
                continue
            if isinstance(after.value, str) and _COUNTED.match(after.value):
                yield node.lineno, ast.unparse(node)


@pytest.mark.parametrize("where", ["app/cli", "app/data/transfer", "inspector", "gguf_tools"])
def test_no_count_stands_before_a_word_that_does_not_follow_it(where: str) -> None:
    faults = [
        f"{path.relative_to(_ROOT)}:{line}: {text}: say it with units.counted"
        for path in sorted((_ROOT / where).rglob("*.py"))
        for line, text in _bare_counts(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not faults, "\n".join(faults)


def test_a_count_that_is_one_is_found() -> None:
    assert list(_bare_counts(ast.parse("f'{n} tokens new'")))
    assert list(_bare_counts(ast.parse("f'prefill took {n:,} threads'")))
    assert not list(_bare_counts(ast.parse("f'a context of {n} tokens'")))
    assert not list(_bare_counts(ast.parse("f'{n} tokenizers'")))
