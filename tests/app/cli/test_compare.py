from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli import run
from app.data.comparisons import Comparisons
from app.engine import bandwidth
from app.paths import Paths
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

_FLAGS = ["--max-tokens", "8", "--ctx", "512", "--threads", "1"]


@pytest.fixture(autouse=True)
def small_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probe with small buffers: what is tested here is not the speed."""
    monkeypatch.setattr(bandwidth, "LARGE_BYTES", 4 << 20)
    monkeypatch.setattr(bandwidth, "MOST_BYTES", 2 << 20)


@pytest.fixture
def variants(tmp_path: Path) -> tuple[Path, Path]:
    """Two models of one vocabulary and other weights, as variants differ."""
    return (
        write_tiny_model(tmp_path / "one-F32.gguf", TinyModel(seed=1)),
        write_tiny_model(tmp_path / "two-F32.gguf", TinyModel(seed=2)),
    )


def test_json_report_and_what_is_kept(
    variants: tuple[Path, Path],
    tmp_path: Path,
    paths: Paths,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, second = variants
    report = tmp_path / "report.md"
    text = tmp_path / "text.txt"
    text.write_text("The wind was fair and the ship lay low in the water. " * 40)
    code = run(
        ["compare", str(first), str(second), "-p", "Say something.", "--text", str(text),
         "--text-tokens", "512", "--reference", str(second), "--out", str(report), "--json",
         *_FLAGS]
    )  # fmt: skip
    out, err = capsys.readouterr()
    assert code == 0
    values = json.loads(out)
    rows = values["rows"]
    assert [row["label"] for row in rows] == ["one-F32", "two-F32"]
    assert [row["is_reference"] for row in rows] == [False, True]
    assert rows[0]["mean_kl"]["value"] > 0
    assert rows[1]["mean_kl"] is None
    assert all(row["perplexity"]["error"] > 0 for row in rows)
    assert all(row["decode_per_s"] > 0 and row["ceiling"] > 0 for row in rows)
    assert rows[0]["ratio_predicted"] == pytest.approx(1.0)
    assert values["record"]["settings"]["text_name"] == "text.txt"
    assert values["record"]["settings"]["seed"] == 1
    assert "one-F32: done" in err
    assert "| variant |" in report.read_text()
    (entry,) = Comparisons(paths.comparisons).entries()
    assert entry.id == values["id"]


def test_a_table_for_people(
    variants: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["compare", *map(str, variants), "--no-quality", "--together", *_FLAGS]
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert "ratio by bytes" in out
    assert "one-F32 (reference)" in out
    assert "perplexity" not in out
    assert "shared bandwidth" in out


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["{first}"], 2, "2 to 6"),
        (["{first}", "{first}"], 2, "chosen twice"),
        (["{first}", "{folder}/none.gguf"], 3, "none.gguf"),
        (["{first}", "{second}", "--reference", "{folder}/none.gguf"], 2, "--reference"),
        (["{first}", "{second}", "--text", "{folder}/none.txt"], 2, "none.txt"),
        (["{first}", "{second}", "--text", "{first}"], 2, "no text file"),
        (["{first}", "{second}", "--text", "x", "--no-quality"], 2, "don't go together"),
    ],
)
def test_refusals_have_their_codes(
    variants: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    part: str,
) -> None:
    first, second = variants
    filled = [text.format(first=first, second=second, folder=tmp_path) for text in arguments]
    assert run(["compare", *filled]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert part in err


def test_a_report_that_can_not_be_written_is_told(
    variants: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "nowhere" / "report.json"
    arguments = ["compare", *map(str, variants), "--no-quality", "--out", str(report), *_FLAGS]
    assert run(arguments) == 1
    out, err = capsys.readouterr()
    assert "can't be written" in err
    assert "ratio by bytes" in out  # what was measured is shown all the same
