"""No text reads "1 tokens": a number before a word in the plural has words for one beside it.

Looked at is every text of the program in which a value is followed by a noun in the plural. Its
number is known to be no 1 where the words say so (a context of … tokens, all … layers), where the
text is one side of a choice by a comparison with 1, or where it is given to a helper that makes
that choice. What is left must stand in the list below, with why its number is never 1.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
PARTS: Final = ("app", "inspector", "gguf_tools")
NOUNS: Final = (
    "arrays attachments branches buffers cards cells characters chats columns computers "
    "conversations copies cores devices documents downloads drafts entries experts figures files "
    "folders heads keys layers likes lines matches messages models ones pages parts pieces places "
    "presets records replies requests results rows runs samples seconds servers shards splits "
    "steps tensors texts threads tokens turns variants versions words"
)
"""Bytes, parameters and rates are not among them: they are counted by the thousand, or measured."""
VERBS: Final = "and for fewer has have in needs of offers that then was were SELECT FROM Until"
VALUE: Final = "\N{OBJECT REPLACEMENT CHARACTER}"
COUNTED: Final = re.compile(
    rf"(?P<before>[^{VALUE}]*?){VALUE} "
    rf"(?:(?!(?:{VERBS.replace(' ', '|')})\b)[A-Za-z]+ ){{0,2}}"
    rf"(?:{NOUNS.replace(' ', '|')})\b(?! (?:of a prompt )?per second| a second)"
)
LARGE: Final = re.compile(
    r"(?:context of|sliding window of|trained for|at most|up to|at least|more than|fewer than"
    r"|longer than (?:the)?|context holds|look back|depth of|batch of|all|every|context|of|between"
    r"|to|room for the reply; the model has|stop growing at)\s*$",
    re.IGNORECASE,
)
"""What stands before a number that is a length, a limit or a total."""
HELPERS: Final = frozenset({"counted", "numbered", "plural", "_counted"})
NEVER_ONE: Final[dict[str, tuple[str, ...]]] = {
    # Lengths of contexts and depths of tests, which are hundreds of tokens or more.
    "app/cli/plan.py": ("… tokens",),
    "app/ui/planner/growth_chart.py": ("… tokens",),
    "app/ui/presenters/compare_views.py": ("With … tokens",),
    "app/ui/presenters/library_views.py": ("Planned with … tokens", "that fits: … tokens"),
    "gguf_tools/findings.py": ("… tokens",),
    "inspector/budget.py": ("for … tokens",),
    "inspector/growth.py": ("… tokens",),
    "inspector/panel.py": ("… tokens",),
    "inspector/panel_text.py": ("is reached at … tokens",),
    "inspector/planner_bars.py": ("× … tokens",),
    "inspector/planner_reasons.py": ("… tokens",),
    "inspector/planner_report.py": ("is full at … tokens",),
    "inspector/planner_words.py": ("… tokens", "/… layers"),
    "inspector/widgets/plots/growth.py": ("budget ends at … tokens", "context ends at … tokens"),
    # More than one, or nothing is said of it.
    "app/data/transfer/writing.py": ("… chats",),
    "app/engine/refusals.py": ("… replies", "alone takes … tokens"),
    "app/engine/rpc.py": ("offers … devices",),  # 0, or more than can be
    "app/ui/chat_views.py": ("… replies",),
    "app/ui/presenters/download_words.py": ("… models",),
    "app/ui/presenters/library_files.py": ("Move … models",),
    "app/ui/shell/composer.py": ("… characters",),
    "app/engine/backend/chain.py": ("… characters",),
    "app/ui/presenters/compare_again.py": ("need … variants", "to read … tokens"),
    "inspector/batching.py": ("… replies", "… tokens"),  # tokens a step: with decimals
    "inspector/findings.py": ("… threads",),
    "inspector/causes.py": ("… threads",),
    "app/data/hub/client.py": ("in … seconds",),
    # Measured with a decimal.
    "app/data/probe.py": ("uses … processor cores", "use … processor cores"),
    # Of files, which claim absurd numbers there.
    "gguf_tools/header/parser.py": ("claims … keys", "and … tensors"),
    "gguf_tools/header/split.py": ("… tensors", "… parts", "… shards"),
    # Heads of an architecture, and names that nobody reads.
    "app/ui/presenters/planner_choices.py": ("… heads",),
    "gguf_tools/settings.py": ("… heads",),
    "app/data/bandwidths.py": ("| … threads",),
    "app/data/decode_rates.py": ("| … threads",),
    "app/engine/fake/model.py": ("… cached tokens",),
}


def _text(node: ast.AST) -> str | None:
    """Return a text with VALUE for what is filled in, None for what is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[\dn]|\{[\w.:,!]*\}", VALUE, node.value)
    if isinstance(node, ast.JoinedStr):
        parts = (p.value if isinstance(p, ast.Constant) else VALUE for p in node.values)
        return "".join(str(part) for part in parts)
    return None


def _chooses_one(test: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Compare)
        and any(isinstance(c, ast.Constant) and c.value in (1, 2) for c in node.comparators)
        for node in ast.walk(test)
    )


def _texts(node: ast.AST, *, is_safe: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the texts below a node that no choice or helper speaks for, with their lines."""
    text = _text(node)
    if text is not None:
        if not is_safe:
            yield node.lineno, text  # type: ignore[attr-defined]
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    yield from _texts(part.value, is_safe=is_safe)
        return
    safe = is_safe
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        safe = safe or (node.func.id if isinstance(node.func, ast.Name) else name) in HELPERS
    elif isinstance(node, ast.IfExp | ast.If):
        safe = safe or _chooses_one(node.test)
    is_block = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    for child in ast.iter_child_nodes(node):
        if is_block and isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue  # a docstring
        yield from _texts(child, is_safe=safe and not is_block)


def plurals(source: str) -> list[tuple[int, str]]:
    """Return the texts of a module whose number may be 1 beside a word in the plural."""
    return [
        (line, match[0].strip())
        for line, text in _texts(ast.parse(source))
        for match in COUNTED.finditer(text)
        if not LARGE.search(match["before"])
    ]


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('tr("%1 tokens")', 1),
        ('f"{n:,} old messages left"', 1),
        ('tr("{0} chats of {1} were added.")', 1),
        ('tr("1 token") if n == 1 else tr("%1 tokens")', 0),
        ('numbered(n, tr("1 token"), tr("%n tokens"))', 0),
        ("f\"{counted(n, 'token')} at {rate} tokens per second\"", 0),
        ('tr("A context of {0} tokens")', 0),
        ('tr("{0} of {1} layers on {2}")', 0),
        ('def f():\n    """Return {n} tokens."""', 0),
    ],
)
def test_the_kind_is_seen(source: str, count: int) -> None:
    assert len(plurals(source)) == count


def test_no_text_reads_one_tokens() -> None:
    found: list[str] = []
    used: set[tuple[str, str]] = set()
    for part in PARTS:
        for path in sorted((ROOT / part).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            for line, text in plurals(path.read_text(encoding="utf-8")):
                reasons = [t for t in NEVER_ONE.get(name, ()) if t in text.replace(VALUE, "…")]
                used.update((name, reason) for reason in reasons)
                if not reasons:
                    found.append(f"{name}:{line}: {text.replace(VALUE, '…')}")
    assert not found, "\n".join(found)
    known = {name: texts for name, texts in NEVER_ONE.items() if (ROOT / name).is_file()}
    assert used == {(name, text) for name, texts in known.items() for text in texts}
