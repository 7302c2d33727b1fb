from __future__ import annotations

import json
from pathlib import Path

import pytest

from app import updates
from app.updates import RELEASES_VARIABLE, Release, UpdateError, is_newer, parse_release


def answer(**changed: object) -> bytes:
    told = {"tag_name": "v2.1.0", "html_url": "https://example.org/releases/2.1.0", "body": "x"}
    return json.dumps({**told, **changed}).encode()


def test_an_answer_names_a_version_and_a_page() -> None:
    assert parse_release(answer()) == Release("2.1.0", "https://example.org/releases/2.1.0")


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"<html>",
        b"[]",
        b"[" * 100_000,
        b"\xff\xfe",
        answer(tag_name=None),
        answer(tag_name="nightly"),
        answer(html_url="javascript:alert(1)"),
        answer(html_url="file:///etc/passwd"),
        answer(html_url="http://example.org/releases"),
        answer(html_url=7),
    ],
)
def test_an_answer_that_is_none_is_refused_in_a_sentence(told: bytes) -> None:
    with pytest.raises(UpdateError) as error:
        parse_release(told)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize(
    ("offered", "installed", "newer"),
    [
        ("0.2.0", "0.1.0", True),
        ("0.10.0", "0.9.9", True),
        ("1.0", "1.0.0", False),
        ("v1.0.1", "1.0", True),
        ("1.0rc1", "1.0", False),
        ("1.0", "1.0rc1", True),
        ("0.1.0", "0.2.0", False),
        ("nightly", "0.1.0", False),
        ("9.9", "unknown", False),
    ],
)
def test_what_is_newer(offered: str, installed: str, newer: bool) -> None:
    assert is_newer(offered, installed) is newer


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://example.org/latest", True),
        ("http://127.0.0.1:8000/latest", True),
        ("http://localhost/latest", True),
        ("http://example.org/latest", False),
        ("ftp://example.org/latest", False),
        ("https://", False),
        ("https://[", False),
        ("", False),
    ],
)
def test_only_safe_addresses_are_asked(url: str, taken: bool) -> None:
    assert (updates.releases_url({RELEASES_VARIABLE: url}) == url) is (taken and bool(url))


def test_a_source_tree_asks_nobody() -> None:
    assert updates.build_facts() == updates.BuildFacts()
    assert updates.releases_url({}) is None


def test_a_built_program_asks_the_address_of_its_build(monkeypatch: pytest.MonkeyPatch) -> None:
    from resources.installers.bundle import build_facts
    from resources.installers.project import Target

    text = build_facts(Target("1.0", "linux", "arm64"), "https://example.org/latest")
    monkeypatch.setattr(updates, "read_text", lambda name: {"build.json": text}[name])
    facts = updates.build_facts()
    assert (facts.system, facts.machine, facts.with_model) == ("linux", "arm64", False)
    assert updates.releases_url({}) == "https://example.org/latest"


def test_nothing_of_it_runs_at_the_start() -> None:
    """The window makes the presenter when it is asked for, and the command alone asks."""
    root = Path(updates.__file__).parents[1]
    text = (root / "app" / "ui" / "application.py").read_text(encoding="utf-8")
    assert text.count("self.updates") == 1
    assert text.count("updates = Later(") == 1
