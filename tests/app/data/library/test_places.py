from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.data.library.places import places_for, places_of_others
from app.paths import Paths

HOME = Path("/home/ada")


def found(platform: str, environ: dict[str, str] | None = None) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for place in places_of_others(platform, HOME, environ or {}):
        places.setdefault(place.source, []).append(place.path.as_posix())
    return places


def test_linux() -> None:
    assert found("linux") == {
        "LM Studio": ["/home/ada/.lmstudio/models", "/home/ada/.cache/lm-studio/models"],
        "Ollama": ["/home/ada/.ollama/models", "/usr/share/ollama/.ollama/models"],
        "Hugging Face": ["/home/ada/.cache/huggingface/hub"],
        "GPT4All": ["/home/ada/.local/share/nomic.ai/GPT4All"],
        "Jan": [
            f"/home/ada/{folder}/{part}"
            for folder in (".local/share/Jan/data", ".config/Jan/data", "jan")
            for part in ("models", "llamacpp/models")
        ],
        "llama.cpp": ["/home/ada/.cache/llama.cpp"],
    }


def test_macos() -> None:
    places = found("darwin")
    assert places["Ollama"] == ["/home/ada/.ollama/models"]
    assert places["GPT4All"] == ["/home/ada/Library/Application Support/nomic.ai/GPT4All"]
    assert places["Jan"][0] == "/home/ada/Library/Application Support/Jan/data/models"
    assert places["llama.cpp"] == ["/home/ada/Library/Caches/llama.cpp"]
    assert places["Hugging Face"] == ["/home/ada/.cache/huggingface/hub"]


def test_windows() -> None:
    environ = {"LOCALAPPDATA": "/local", "APPDATA": "/roaming", "XDG_CACHE_HOME": "/ignored"}
    places = found("win32", environ)
    assert places["GPT4All"] == ["/local/nomic.ai/GPT4All"]
    assert places["Jan"][1] == "/roaming/Jan/data/llamacpp/models"
    assert places["llama.cpp"] == ["/local/llama.cpp"]
    assert places["Hugging Face"] == ["/home/ada/.cache/huggingface/hub"]
    assert found("win32")["llama.cpp"] == ["/home/ada/AppData/Local/llama.cpp"]


def test_variables_of_other_programs_are_followed() -> None:
    environ = {"OLLAMA_MODELS": "/big/ollama", "HF_HOME": "/big/hf", "LLAMA_CACHE": "/big/llama"}
    places = found("linux", environ)
    assert places["Ollama"][0] == "/big/ollama"
    assert places["Hugging Face"] == ["/big/hf/hub"]
    assert places["llama.cpp"] == ["/big/llama"]
    assert found("linux", environ | {"HF_HUB_CACHE": "/hub"})["Hugging Face"] == ["/hub"]


def test_a_folder_that_lm_studio_was_told_to_use(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / ".lmstudio-home-pointer").write_text(str(elsewhere))
    (elsewhere / "settings.json").write_text(json.dumps({"downloadsFolder": "/big/models"}))
    paths = [p.path for p in places_of_others("linux", tmp_path, {}) if p.source == "LM Studio"]
    assert paths == [
        Path("/big/models"), elsewhere / "models", tmp_path / ".cache/lm-studio/models",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "[]", "{", '{"downloadsFolder": 7}', "[" * 100_000])
def test_settings_of_others_that_are_damaged(tmp_path: Path, text: str) -> None:
    folder = tmp_path / ".lmstudio"
    folder.mkdir()
    (folder / "settings.json").write_text(text)
    assert places_of_others("linux", tmp_path, {})[0].path == folder / "models"


def test_ours_come_first(paths: Paths, starter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    folders = ["/a", "  ", "~/b", "~nobody-of-this-name/c"]
    places = places_for(paths, folders, others=False)
    assert [(p.source, p.path, p.layout) for p in places] == [
        ("Starter model", starter, "file"),
        ("Plimsoll", paths.models, "folder"),
        ("Folder", Path("/a"), "folder"),
        ("Folder", Path("/home/ada/b"), "folder"),
        ("Folder", Path("~nobody-of-this-name/c"), "folder"),
    ]
    assert len(places_for(paths, home=HOME)) > 10
