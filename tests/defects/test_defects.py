from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import pytest

from tests.defects.__main__ import DEFECTS, ROOT
from tests.defects.defect import Defect, DefectError


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_each_defect_fits_the_source_and_its_tests_are_there(defect: Defect) -> None:
    source = (ROOT / defect.path).read_text("utf-8")
    faulty = defect.applied(ROOT)
    # Otherwise what fails its tests is a file that can't be read, and no wrong figure.
    assert ast.dump(ast.parse(faulty)) != ast.dump(ast.parse(source))
    assert defect.tests


def test_no_two_defects_have_one_name() -> None:
    assert len({defect.name for defect in DEFECTS}) == len(DEFECTS)


def test_a_defect_that_no_longer_fits_says_so(tmp_path: Path) -> None:
    (tmp_path / "rates.py").write_text("rate = tokens / seconds\n", "utf-8")
    (tmp_path / "test_rates.py").write_text("def test_rate(): ...\n", "utf-8")
    fits = Defect("a rate", "rates.py", "tokens /", "tokens *", ("test_rates.py::test_rate",))
    assert fits.applied(tmp_path) == "rate = tokens * seconds\n"
    for changed, said in (
        ({"path": "gone.py"}, "there is no gone.py any more"),
        ({"old": "tokens +"}, "0 times, not once"),
        ({"old": "e"}, "3 times, not once"),
        ({"tests": ("test_gone.py",)}, "there is no test_gone.py"),
        ({"tests": ("test_rates.py::test_gone",)}, "test_rates.py has no test test_gone"),
    ):
        with pytest.raises(DefectError, match=said):
            dataclasses.replace(fits, **changed).applied(tmp_path)
