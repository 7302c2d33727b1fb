from __future__ import annotations

import pytest

from resources import licences
from resources.installers import licence_file
from resources.installers.project import Target
from resources.licences import Licence, gather, render


def test_every_package_that_is_used_is_there_with_its_licence() -> None:
    found = {part.name.lower(): part for part in gather()}
    for name in ("llama_cpp_python", "numpy", "pyqtgraph", "pyside6_essentials", "jinja2"):
        assert found[name].version
        assert found[name].short != "not named"
    assert "Permission is hereby granted" in found["llama_cpp_python"].text
    assert "pytest" not in found  # a tool is not part of the program


def test_a_package_named_besides_comes_without_what_it_needs() -> None:
    with_tool = {part.name.lower() for part in gather(also=("mypy",))}
    assert with_tool - {part.name.lower() for part in gather()} == {"mypy"}


def test_the_text_begins_with_an_overview() -> None:
    text = render([Licence("a", "1", "MIT", "free")], [Licence("b", "", "ISC", "as well")])
    head, _, rest = text.partition("=" * 20)
    assert "  a 1: MIT\n  b: ISC" in head
    assert rest.index("free") < rest.index("as well")


def test_a_built_program_shows_what_its_build_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    assert licences.built_text() is None  # a source tree has none
    monkeypatch.setattr(licences, "read_text", lambda name: {"licences.txt": "written"}[name])
    assert licences.licence_text() == "written"


def test_installers_add_what_is_no_python_package() -> None:
    text = licence_file.licence_file(
        Target("1.0", "linux", "x86_64", with_model=True),
        [Licence("libxcb.so.1 (libxcb1)", "", "see below", "as Debian has it")],
    )
    for part in (
        "GNU LESSER GENERAL PUBLIC LICENSE",  # Qt
        "GNU GENERAL PUBLIC LICENSE",  # which the former adds to
        "The ggml authors",
        "PYTHON SOFTWARE FOUNDATION LICENSE",
        "SmolLM2",
        "Apache License",
        "SIL OPEN FONT LICENSE",
        "as Debian has it",
    ):
        assert part.lower() in text.lower(), part
    without = licence_file.licence_file(Target("1.0", "linux", "x86_64"))
    assert "SmolLM2" not in without
