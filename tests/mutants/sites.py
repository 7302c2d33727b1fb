"""Where a module can be made wrong: one operator, number, condition or statement at a time."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

__all__ = ["Module", "Site", "read_module"]

_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_Kind = TypeVar("_Kind", bound=ast.AST)
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil"}
_REMOVED = (ast.Expr, ast.AugAssign, ast.Continue, ast.Break, ast.Raise, ast.Delete)


@dataclass(frozen=True, slots=True)
class Site:
    """One fault: where, what in words, and how it is made in the tree that it belongs to."""

    path: Path
    line: int
    what: str
    inside: str | None  # the outermost function that it lies in; None: found out at import
    make: Callable[[], None]
    statement: range  # lines of the statement, or of the head of one with a body


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed file; a fault is made in ``tree`` for good, so in a process of its own."""

    path: Path
    tree: ast.Module
    lines: list[str]
    sites: list[Site]

    def text(self, site: Site) -> str:
        """Return the line of a fault."""
        return self.lines[site.line - 1].strip()


def read_module(path: Path) -> Module:
    """Parse a file and list its faults, in order of the lines."""
    source = path.read_text("utf-8")
    tree = ast.parse(source, str(path))
    sites = sorted(_Finder(path).find(tree), key=lambda site: site.line)
    return Module(path, tree, source.splitlines(), sites)


class _Finder:
    """Walks a tree; knows in which function it is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._statement_lines = range(0)

    def find(self, tree: ast.Module) -> Iterator[Site]:
        yield from self._body(tree, None)

    def _site(self, node: ast.AST, what: str, inside: str | None, make: Callable[[], None]) -> Site:
        line = getattr(node, "lineno", self._statement_lines.start)
        return Site(self._path, line, what, inside, make, self._statement_lines)

    def _body(self, node: ast.AST, inside: str | None) -> Iterator[Site]:
        for name, value in ast.iter_fields(node):
            # Types and decorators have no effect on a figure; names of keys are not figures.
            if name in {"annotation", "returns", "decorator_list", "type_comment", "keywords"}:
                if name == "keywords":
                    for keyword in value:
                        if getattr(keyword, "arg", None) not in {"strict", "maxsize", "key"}:
                            yield from self._node(keyword.value, inside)
                continue
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        yield from self._statement(value, index, inside)
                        yield from self._node(item, inside)
            elif isinstance(value, ast.AST):
                yield from self._node(value, inside)

    def _statement(self, among: list[ast.stmt], index: int, inside: str | None) -> Iterator[Site]:
        node = among[index]
        if isinstance(node, ast.stmt):
            self._statement_lines = _head(node)
        if not isinstance(node, _REMOVED) or inside is None:
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring

        def make() -> None:
            among[index] = ast.copy_location(ast.Pass(), node)

        yield self._site(node, f"without {type(node).__name__}", inside, make)

    def _node(self, node: ast.AST, inside: str | None) -> Iterator[Site]:
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            return
        if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom)):
            return  # words
        if isinstance(node, ast.stmt):
            self._statement_lines = _head(node)
        yield from self._here(node, inside)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                yield from self._node(default, inside)
            named = inside or node.name
            for index, item in enumerate(node.body):
                yield from self._statement(node.body, index, named)
                yield from self._node(item, named)
            return
        yield from self._body(node, inside)

    def _here(self, node: ast.AST, inside: str | None) -> Iterator[Site]:
        if isinstance(node, (ast.BinOp, ast.AugAssign)):
            yield from self._operator(node, inside)
        elif isinstance(node, ast.Compare):
            yield from self._comparison(node, inside)
        elif isinstance(node, ast.BoolOp):
            yield self._set(
                node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And(), inside
            )
        elif isinstance(node, ast.Constant):
            yield from self._constant(node, inside)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield self._set(node, "op", ast.UAdd(), inside)
        elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
            if not isinstance(node.test, (ast.Compare, ast.BoolOp)):
                yield self._set(node, "test", _not(node.test), inside)
        elif isinstance(node, ast.comprehension):
            for index, test in enumerate(node.ifs):
                if not isinstance(test, (ast.Compare, ast.BoolOp)):
                    yield self._item(test, node.ifs, index, _not(test), "if not", inside)
        elif isinstance(node, ast.Name) and node.id in _CALLS:
            yield self._set(node, "id", _CALLS[node.id], inside)
        elif isinstance(node, ast.Return) and not isinstance(
            node.value, (ast.Constant, type(None))
        ):
            yield self._set(node, "value", ast.Constant(None), inside)

    def _operator(self, node: ast.BinOp | ast.AugAssign, inside: str | None) -> Iterator[Site]:
        instead = _OPERATORS.get(type(node.op))
        text = isinstance(node, ast.BinOp) and any(
            isinstance(side, ast.JoinedStr)
            or (isinstance(side, ast.Constant) and isinstance(side.value, str))
            for side in (node.left, node.right)
        )
        if instead is not None and not text:
            yield self._set(node, "op", instead(), inside)

    def _comparison(self, node: ast.Compare, inside: str | None) -> Iterator[Site]:
        for index, operator in enumerate(node.ops):
            instead = _COMPARISONS[type(operator)]()
            what = f"{type(operator).__name__} -> {type(instead).__name__}"
            yield self._item(node, node.ops, index, instead, what, inside)

    def _constant(self, node: ast.Constant, inside: str | None) -> Iterator[Site]:
        value = node.value
        if isinstance(value, bool):
            yield self._set(node, "value", not value, inside)
        elif isinstance(value, int):
            yield self._set(node, "value", value + 1, inside)
        elif isinstance(value, float):
            yield self._set(node, "value", value * 1.25 if value else 1.0, inside)

    def _set(self, node: ast.AST, name: str, value: object, inside: str | None) -> Site:
        def make() -> None:
            setattr(node, name, value)

        before = _short(getattr(node, name))
        return self._site(node, f"{before} -> {_short(value)}", inside, make)

    def _item(
        self,
        node: ast.AST,
        among: list[_Kind],
        index: int,
        value: _Kind,
        what: str,
        inside: str | None,
    ) -> Site:
        def make() -> None:
            among[index] = value

        return self._site(node, what, inside, make)


def _head(node: ast.stmt) -> range:
    """Return the lines of a statement, without those of its body."""
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
    return range(node.lineno, max(first.lineno, node.lineno + 1))


def _not(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _short(value: object) -> str:
    if isinstance(value, (ast.operator, ast.boolop, ast.unaryop, ast.cmpop)):
        return type(value).__name__
    return ast.unparse(value)[:50] if isinstance(value, ast.expr) else str(value)
