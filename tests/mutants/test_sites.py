from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT, equivalents
from tests.mutants.runner import Reach
from tests.mutants.sites import Module, read_module

SOURCE = '''
LIMIT = 3


def rate(tokens: int, seconds: float = 2.0) -> float | None:
    """Return tokens a second."""
    if tokens < 1 or not seconds:
        return None
    found = max(
        tokens,
        7,
    )
    found -= 1
    return found / seconds
'''


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "rates.py"
    made.write_text(SOURCE, "utf-8")
    return made


def _faulty(path: Path, index: int) -> str:
    module = read_module(path)
    module.sites[index].make()
    return ast.unparse(module.tree)


def test_each_operator_number_condition_and_statement_is_a_fault_once(path: Path) -> None:
    module = read_module(path)
    assert [(site.line, site.what, site.inside) for site in module.sites] == [
        (2, "3 -> 4", None),
        (5, "2.0 -> 2.5", None),
        (7, "Or -> And", "rate"),
        (7, "Lt -> LtE", "rate"),
        (7, "1 -> 2", "rate"),
        (9, "max -> min", "rate"),
        (11, "7 -> 8", "rate"),
        (13, "without AugAssign", "rate"),
        (13, "Sub -> Add", "rate"),
        (13, "1 -> 2", "rate"),
        (14, "found / seconds -> None", "rate"),
        (14, "Div -> Mult", "rate"),
    ]
    sound = ast.unparse(ast.parse(SOURCE))
    made = [_faulty(path, index) for index in range(len(module.sites))]
    assert len({*made, sound}) == len(module.sites) + 1
    changed = [set(text.splitlines()) - set(sound.splitlines()) for text in made]
    assert changed[5] == {"    found = min(tokens, 7)"}
    assert changed[7] == {"    pass"}


def test_a_number_on_a_line_by_itself_is_reached_with_its_statement(path: Path) -> None:
    module = read_module(path)
    reach = Reach({"slow": 2.0, "quick": 1.0}, {str(path): {9: ["slow", "quick"], 7: ["slow"]}})
    (number,) = (site for site in module.sites if site.line == 11)
    assert number.statement == range(9, 13)
    assert reach.tests(number, 10, [], set()) == ["quick", "slow"]
    assert reach.tests(number, 10, ["slow"], set()) == ["slow", "quick"]
    assert reach.tests(number, 0.5, [], set()) == ["quick"]
    assert reach.tests(number, 10, [], {"quick"}) == ["slow"]
    (condition,) = (site for site in module.sites if site.what == "Or -> And")
    assert condition.statement == range(7, 8)
    last = module.sites[-1]
    assert reach.tests(last, 10, [], set()) == []


def test_each_fault_that_is_said_to_change_nothing_still_fits_the_source() -> None:
    modules: dict[str, Module] = {}
    for name, text, what in equivalents():
        module = modules.setdefault(name, read_module(ROOT / name))
        known = {(module.text(site), site.what) for site in module.sites}
        assert (text, what) in known, f"{name} has no fault {what} in {text}"
