from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from app.paths import Paths
from app.settings import TABLE, SettingError, Settings, atomic_write, by_scope, declared

ROOT = Path(__file__).resolve().parents[2]


def test_names_are_declared_once_and_defaults_are_values() -> None:
    names = [(setting.scope, setting.key) for setting in TABLE]
    assert len(names) == len(set(names))
    for setting in TABLE:
        assert setting.check(setting.default) == setting.default
        assert setting.help.endswith(".")
        assert setting.label


def test_every_setting_of_the_program_is_used() -> None:
    source = "".join(
        path.read_text("utf-8")
        for path in (ROOT / "app").rglob("*.py")
        if path.parent.name != "settings"
    )
    unused = [s.key for s in by_scope("app") if f'"{s.key}"' not in source]
    assert not unused


def test_changes_are_kept_and_defaults_are_not_written(paths: Paths) -> None:
    settings = Settings(paths.settings)
    settings.set("theme", "dark")
    settings.set("text_size", 120)
    settings.set("text_size", 100)
    settings.set_load_values("/m.gguf", {"n_ctx": 4096})
    settings.set_load_values(None, {"type_k": "q8_0"})
    settings.set_preset("Mine", {"temperature": 0.1, "system_prompt": "Be brief"})
    data = json.loads(paths.settings.read_text())
    assert data["app"] == {"theme": "dark"}
    again = Settings(paths.settings)
    assert again.get("theme") == "dark"
    assert again.load_values("/m.gguf")["n_ctx"] == 4096
    assert again.load_values("/m.gguf")["type_k"] == "q8_0"
    assert again.load_values("/other.gguf")["n_ctx"] is None
    assert again.presets == {"Mine": {"temperature": 0.1, "system_prompt": "Be brief"}}
    again.set_preset("Mine", None)
    assert Settings(paths.settings).presets == {}
    assert paths.settings.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("scope", "key", "value", "words"),
    [
        ("app", "theme", "blue", "one of system, dark, light"),
        ("app", "text_size", 500, "between 75 and 200"),
        ("app", "text_size", "big", "a number"),
        ("app", "text_size", 90.5, "whole number"),
        ("app", "show_statistics", 1, "on or off"),
        ("app", "system_prompt", None, "needs a value"),
        ("sampling", "temperature", float("nan"), "a number"),
        ("sampling", "temperature", float("inf"), "a number"),
        ("app", "text_size", float("inf"), "a number"),
        ("app", "text_size", 10**400, "lies between"),
        ("app", "rpc", ["x" * 100_000], "at most 400 characters"),
        ("sampling", "stop", "x", "list of texts"),
        ("load", "type_k", "q3_k", "one of"),
    ],
)
def test_wrong_values_are_refused_in_words(scope: str, key: str, value: object, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        declared(scope, key).check(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 4096, b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b"null"]
)
def test_a46_damaged_file_is_set_aside_and_named(content: bytes, paths: Paths) -> None:
    paths.settings.write_bytes(content)
    settings = Settings(paths.settings)
    assert settings.get("theme") == "system"
    assert settings.problems
    (kept,) = paths.data.glob("settings.damaged-*.json")
    assert kept.read_bytes() == content
    assert kept.name in settings.problems[0]
    settings.set("theme", "dark")
    assert Settings(paths.settings).get("theme") == "dark"


def test_a46_values_of_the_wrong_type_fall_back_one_by_one(paths: Paths) -> None:
    paths.settings.write_text(
        json.dumps(
            {
                "app": {"theme": 7, "text_size": 120, "of_another_version": 1},
                "models": {"/m.gguf": {"n_ctx": "many", "threads": 2}, "/n.gguf": []},
                "presets": {"A": {"temperature": "hot", "top_k": 5}, "B": 3},
            }
        )
    )
    settings = Settings(paths.settings)
    assert settings.get("theme") == "system"
    assert settings.get("text_size") == 120
    assert settings.load_values("/m.gguf")["threads"] == 2
    assert settings.load_values("/m.gguf")["n_ctx"] is None
    assert settings.presets["A"] == {"top_k": 5}
    assert len(settings.problems) == 3


def test_a_path_that_is_no_text_is_kept(paths: Paths) -> None:
    path = os.fsdecode(b"/models/caf\xe9.gguf")
    Settings(paths.settings).set_load_values(path, {"n_ctx": 4096})
    assert Settings(paths.settings).load_values(path)["n_ctx"] == 4096


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe with a name is POSIX")
def test_what_is_no_file_is_said_and_never_waited_for(paths: Paths) -> None:
    os.mkfifo(paths.settings)
    (problem,) = Settings(paths.settings).problems
    assert problem == (
        "The settings file can't be read (it is not a plain file); defaults are used."
    )


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "kept"
    target.mkdir()
    (target / "file").write_text("old")
    with pytest.raises(IsADirectoryError):
        atomic_write(target, b"new")  # a folder can't be replaced by a file
    assert (target / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_without_a_file_nothing_is_written() -> None:
    settings = Settings(None)
    settings.set("theme", "light")
    assert settings.get("theme") == "light"


def test_addresses_are_kept_in_one_form_once_and_checked(paths: Paths) -> None:
    settings = Settings(paths.settings)
    settings.set("rpc", ["Tower:50052", "10.0.0.5:1", "tower:50052"])
    assert Settings(paths.settings).get("rpc") == ("tower:50052", "10.0.0.5:1")
    for wrong in (["tower"], ["tower:0"], ["[::1]:50052"]):
        with pytest.raises(SettingError):
            settings.set("rpc", wrong)
    assert settings.get("rpc") == ("tower:50052", "10.0.0.5:1")


def test_a_split_is_checked() -> None:
    setting = declared("load", "tensor_split")
    assert setting.check(" 3,1 ") == "3,1"
    assert setting.check(None) is None
    with pytest.raises(SettingError, match="is no split"):
        setting.check("half")
