from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli import run
from app.engine import bandwidth
from gguf_tools.facts import read_facts
from gguf_tools.quantize import QUANT_TYPES
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


@pytest.fixture(autouse=True)
def small_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probe with small buffers: what is tested here is not the speed."""
    monkeypatch.setattr(bandwidth, "LARGE_BYTES", 4 << 20)
    monkeypatch.setattr(bandwidth, "MOST_BYTES", 2 << 20)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_model(tmp_path / "tiny-F32.gguf", TinyModel())


def test_a_variant_is_made_and_described(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "tiny-Q8_0.gguf"
    assert run(["quantize", str(tiny), str(target), "--type", "q8_0", "--json"]) == 0
    out, err = capsys.readouterr()
    values = json.loads(out)
    assert values["type"] == "Q8_0"
    assert values["path"] == str(target)
    assert values["file_bytes"] == target.stat().st_size
    assert abs(values["size_error"]) < 0.001
    assert values["requantized"] is False
    assert values["expected_high"] > values["expected_low"] > 0
    assert read_facts(target).quantization == "Q8_0"
    assert "bits a weight" in err
    assert "Predicted decode" in err


def test_a_dry_run_makes_nothing(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["quantize", str(tiny), "--dry-run", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    rows = {row["type"]: row for row in values["types"]}
    assert len(rows) == len(QUANT_TYPES)
    assert rows["Q8_0"]["expected_bytes"] < rows["F16"]["expected_bytes"]
    assert rows["Q8_0"]["ceiling"] > rows["F16"]["ceiling"]
    assert rows["IQ1_S"]["needs_imatrix"] is False  # every tensor falls back to IQ4_NL
    assert rows["Q4_K_M"]["fallbacks"]
    assert rows["Q1_0"]["obstacle"]
    assert rows["Q1_0"]["expected_bytes"] is None
    assert run(["quantize", str(tiny), "--dry-run", "--type", "Q4_0"]) == 0
    assert "Q4_0" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == [tiny.name]


def test_a_dry_run_says_of_a_file_what_plan_says(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rates that were measured here count, and each row says on what it rests."""
    monkeypatch.setattr("app.cli.bench_run.busy_sentence", lambda _: "")  # rates are to be kept
    sizes = ["--prompt", "16", "--generate", "32", "--depth", "0", "--repeat", "1"]
    assert run(["bench", str(tiny), *sizes]) == 0
    capsys.readouterr()
    assert run(["plan", str(tiny), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)["decode"]
    assert plan["measured_of_this_model"]
    assert run(["quantize", str(tiny), "--dry-run", "--json"]) == 0
    rows = {row["type"]: row for row in json.loads(capsys.readouterr().out)["types"]}
    own = rows["F32"]  # what the file is already
    assert own["ceiling"] == pytest.approx(plan["ceiling"])
    assert own["expected_high"] == pytest.approx(plan["expected_high"])
    assert own["predicted"] == "from 1 measured run of this model"
    assert rows["Q8_0"]["predicted"] == "from 1 measured run of another model"
    assert run(["quantize", str(tiny), "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "from 1 measured run of another model; memory" in text


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["{tiny}", "{folder}/out.gguf"], 2, "--type"),
        (["{tiny}", "--type", "Q8_0"], 2, "file to be made"),
        (["{folder}/none.gguf", "{folder}/out.gguf", "--type", "Q8_0"], 3, "none.gguf"),
        (["{tiny}", "{tiny}", "--type", "Q8_0"], 2, "file of its own"),
        (["{tiny}", "{folder}/out.gguf", "--type", "Q1_0"], 3, "multiple of 128"),
        (["{tiny}", "{folder}/out.gguf", "--type", "Q8_0", "--imatrix", "x"], 2, "no importance"),
    ],
)
def test_refusals_have_their_codes(
    tiny: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    part: str,
) -> None:
    filled = [text.format(tiny=tiny, folder=tmp_path) for text in arguments]
    assert run(["quantize", *filled]) == code
    assert part in capsys.readouterr().err
    assert not (tmp_path / "out.gguf").exists()


def test_an_unknown_type_is_bad_usage(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["quantize", str(tiny), "out.gguf", "--type", "Q9"])
    assert ended.value.code == 2
    assert "no quantisation 'Q9'" in capsys.readouterr().err


def test_a_quantised_source_is_refused_then_marked(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half, again = tmp_path / "half.gguf", tmp_path / "again.gguf"
    assert run(["quantize", str(tiny), str(half), "--type", "Q8_0"]) == 0
    assert run(["quantize", str(half), str(again), "--type", "Q4_0"]) == 2
    assert "quantised already" in capsys.readouterr().err
    arguments = ["quantize", str(half), str(again), "--type", "Q4_0", "--allow-requantize"]
    assert run(arguments) == 0
    assert "requantised" in capsys.readouterr().err
    assert run(["facts", str(again)]) == 0
    assert "Requantised from Q8_0" in capsys.readouterr().out
