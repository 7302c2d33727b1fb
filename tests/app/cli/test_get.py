from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli import run
from app.paths import Paths
from app.settings import Settings
from tests.helpers.hub_models import add_model
from tests.helpers.hub_server import HubServer
from tests.helpers.library_files import MODELS

SMALL = next(shape for shape in MODELS if shape.full_name == "Qwen3-0.6B")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starter: Path) -> Iterator[HubServer]:
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with HubServer() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        add_model(server, tmp_path / "hub", "a/Small-GGUF", SMALL, ("Q4_K_M", "Q8_0"))
        server.add("ship/Starter-GGUF", [(starter.name, starter)], info={"downloads": 7})
        yield server


def test_search(server: HubServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "starter"]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split()[0] == "REPOSITORY"
    assert row.split()[:3] == ["ship/Starter-GGUF", "–", "7"]
    assert run(["search", "gguf", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["repositories"]
    assert {item["id"] for item in found} == {"a/Small-GGUF", "ship/Starter-GGUF"}
    assert run(["search", "zzz"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "zzz" in err


def test_several_files_are_listed_with_their_fit(
    server: HubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["get", "a/Small-GGUF"]) == 2
    out, err = capsys.readouterr()
    assert "name one" in err
    rows = [line.split() for line in out.splitlines()[1:]]
    assert [row[1] for row in rows] == ["Q4_K_M", "Q8_0"]
    assert [row[4] for row in rows] == ["4.50", "8.50"]
    assert run(["get", "a/Small-GGUF", "--list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    for item in told["variants"]:
        assert item["basis"] == "header"
        assert item["fit"] in {"fits", "tight", "too_large"}
        assert item["decode_high"] >= item["decode_low"] > 0
    # Only headers were fetched: each range has an end, and nothing was fetched twice.
    ranges = [seen.headers["range"] for seen in server.requests if seen.host == "localhost"]
    assert ranges
    assert all(text.partition("-")[2] for text in ranges)


def test_a_download_lands_in_the_library(
    server: HubServer, paths: Paths, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["get", f"{server.endpoint}/ship/Starter-GGUF"]) == 0
    out, err = capsys.readouterr()
    path = Path(out.strip())
    assert path == paths.models / "ship" / "Starter-GGUF" / starter.name
    assert path.read_bytes() == starter.read_bytes()
    assert "checksum verified" in err
    assert run(["models", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)["models"]
    assert str(path) in {entry["path"] for entry in entries}


def test_a_folder_can_be_named(
    server: HubServer, tmp_path: Path, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["get", "ship/Starter-GGUF", starter.name, "--to", str(tmp_path / "x"), "--json"]
    assert run(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == [str(tmp_path / "x" / "ship" / "Starter-GGUF" / starter.name)]
    assert told["bytes"] == starter.stat().st_size


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["get", "what is this"], 2, "names no repository"),
        (["get", "no/body"], 1, "There is no repository no/body"),
        (["get", "a/Small-GGUF:Q2_K"], 1, "has no Q2_K. There is: "),
        (["get", "a/Small-GGUF", "other.gguf"], 1, "has no other.gguf"),
    ],
)
def test_refusals(
    server: HubServer,
    words: list[str],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_offline_mode(server: HubServer, paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    Settings(paths.settings).set("offline", True)
    assert run(["search", "a"]) == 1
    assert run(["get", "a/Small-GGUF"]) == 1
    assert capsys.readouterr().err.count("Offline mode is on") == 2
    assert server.requests == []
