"""``facts``, ``plan`` and ``verify`` as a person or a script calls them."""

from __future__ import annotations

import argparse
import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from app.cli import run
from app.cli.verify import Row
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_tiny_model(tmp_path / "tiny.gguf", TinyModel(layers=3, heads=4, kv_heads=2))


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_facts(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = _json(capsys, "facts", str(model))
    assert facts["architecture"] == "llama"
    assert facts["layers"] == 3
    assert facts["kv_bytes_per_token"] == sum(facts["kv_heads"]) * 16 * 2 * 2
    assert facts["chat_template"] is True
    assert sum(share["bytes"] for share in facts["tensor_types"].values()) == facts["weights_bytes"]
    assert run(["facts", str(model)]) == 0
    assert "Architecture" in capsys.readouterr().out


def test_plan_for_named_hardware(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = _json(capsys, "plan", str(model), "--hardware", "RTX 4090", "--ctx", "1000")
    assert plan["n_ctx"] == 1024
    assert [device["kind"] for device in plan["devices"]] == ["cpu", "gpu"]
    assert plan["fits"] is True
    assert plan["layers_offloaded"] == 4
    decode = plan["decode"]
    assert decode["expected_low"] < decode["expected_high"] < decode["ceiling"]
    assert decode["bandwidth_source"] == "table"
    assert plan["ttft_s"] > 0


@pytest.mark.parametrize("where", [("--bandwidth", "50"), ("--hardware", "H100 SXM")])
def test_a_plan_says_that_a_context_is_beyond_the_trained_one(
    where: tuple[str, str], model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _json(capsys, "facts", str(model))["context_length"] == 2048
    within = _json(capsys, "plan", str(model), *where, "--ctx", "2048")
    beyond = _json(capsys, "plan", str(model), *where, "--ctx", "16384")
    assert "beyond_trained" not in [item["id"] for item in within["findings"]]
    (said,) = (item for item in beyond["findings"] if item["id"] == "beyond_trained")
    sentence = "16,384 tokens are asked for and the model was trained for 2,048: "
    assert said["text"].startswith(sentence)
    assert (beyond["fits"], beyond["max_context"]) == (True, 2048)
    assert run(["plan", str(model), *where, "--ctx", "16384"]) == 0
    text = capsys.readouterr().out
    assert "longest context 2,048 tokens, all that it was trained for" in text
    assert f"! {sentence}" in text


def test_plan_for_this_computer(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = _json(capsys, "plan", str(model), "--bandwidth", "50")
    assert plan["devices"][0]["kind"] == "cpu"
    assert plan["decode"]["bandwidth_source"] == "assumed"
    assert run(["plan", str(model), "--bandwidth", "50"]) == 0
    assert "Decode" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [(), ("--ctx", "777", "--kv-type", "f32"), ("--flash", "off"), ("--sequences", "3")]
)
def test_verify(model: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]) -> None:
    found = _json(capsys, "verify", str(model), *options)
    errors = {row["what"]: row["error"] for row in found["rows"]}
    assert errors["cache"] == 0
    assert errors["weights"] == 0
    assert abs(errors["compute"]) < 0.01
    assert errors["output"] == 0
    assert found["worst_error"] < 0.01
    assert found["dry_run_s"] < 5


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("--ctx 512", "--n-ctx 512"),
        ("--kv-type f32", "--type-k f32 --type-v f32"),
        ("--flash off", "--flash-attention off"),
        ("--ubatch 64", "--n-ubatch 64"),
        ("--batch 64", "--n-batch 64"),
        ("--sequences 3", "--parallel 3"),
    ],
)
def test_a_setting_has_the_same_names_in_every_command(
    short: str, long: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def planned(words: str) -> list[object]:
        plan = _json(capsys, "plan", str(model), "--hardware", "RTX 4090", *words.split())
        sizes = ("weights_bytes", "kv_bytes", "compute_bytes")
        return [plan["kv_type"], *(item[size] for item in plan["devices"] for size in sizes)]

    asked = planned(short)
    assert asked == planned(long)
    assert asked != planned("")
    for command in ("chat", "compare", "bench", "verify"):
        parser = argparse.ArgumentParser()
        import_module(f"app.cli.{command}").add_arguments(parser)
        files = ["a.gguf", "b.gguf"] if command == "compare" else ["a.gguf"]
        one, other, none = (
            parser.parse_args([*files, *words.split()]) for words in (short, long, "")
        )
        assert one == other != none


@pytest.mark.parametrize("command", ["plan", "verify", "bench", "chat"])
def test_a_context_below_the_least_is_refused_everywhere(
    command: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run([command, str(model), "--ctx", "1"])
    assert ended.value.code == 2
    assert "Context lies between 256 and 16,777,216, not 1; see" in capsys.readouterr().err


def test_verify_reads(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(model)]) == 0
    assert "worst error" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["facts", "plan", "verify"])
def test_no_model(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.gguf"
    path.write_bytes(b"<html></html>")
    assert run([command, str(path)]) == 3
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1


def test_unknown_hardware(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", str(model), "--hardware", "abacus"]) == 2
    assert "abacus" in capsys.readouterr().err


@pytest.mark.parametrize("missing_bytes", [1, 5000])
def test_a_cut_file_is_incomplete_everywhere(
    model: Path, missing_bytes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    os.truncate(model, model.stat().st_size - missing_bytes)
    facts = _json(capsys, "facts", str(model))
    assert (facts["complete"], facts["loadable"]) == (False, False)
    assert facts["needed_bytes"] - facts["file_bytes"] == missing_bytes
    assert facts["warnings"][0].startswith("The file is incomplete: ")
    for command in ("plan", "verify", "bench"):
        assert run([command, str(model)]) == 3
        out, err = capsys.readouterr()
        assert not out
        assert err.startswith("The file is incomplete: ")


@pytest.mark.parametrize("command", ["facts", "plan", "verify", "bench"])
def test_a_folder_is_called_one(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, str(tmp_path)]) == 3
    assert "is a folder" in capsys.readouterr().err


def test_a_difference_within_rounding_is_called_so() -> None:
    rounded = Row("CPU", "output", 196_608, 199_229, 5243)
    assert rounded.within_rounding
    assert not Row("CPU", "output", 196_608, 199_229).within_rounding
    assert Row("CPU", "output", 196_608, 199_229).error == pytest.approx(-0.01316, abs=1e-4)
    assert not Row("CPU", "output", 199_229, 199_229, 5243).within_rounding


def test_a_draft_model_is_planned_beside(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = write_tiny_model(tmp_path / "small.gguf", TinyModel(layers=1, heads=4, kv_heads=2))
    where = ("--bandwidth", "50")
    alone = _json(capsys, "plan", str(model), *where)
    both = _json(capsys, "plan", str(model), "--draft", str(small), *where)
    own = _json(capsys, "plan", str(small), *where)
    assert alone["draft"] is None
    assert alone["devices"][0]["draft_bytes"] == 0
    assert both["draft"]["weights_bytes"] == own["devices"][0]["weights_bytes"]
    assert both["devices"][0]["draft_bytes"] == both["draft"]["total_bytes"] > 0
    assert [item["id"] for item in both["findings"]].count("draft") == 1
    assert run(["plan", str(model), "--draft", str(small), *where]) == 0
    assert "draft" in capsys.readouterr().out.splitlines()[3]
    assert run(["plan", str(model), "--draft", str(tmp_path / "no.gguf"), *where]) == 3
    assert "no.gguf" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("RTX 30", "like it are NVIDIA GeForce RTX 3050, NVIDIA GeForce RTX 3060, "),
        ("RTZ 4090", "NVIDIA GeForce RTX 4090"),
        ("zzz", "name it as 'RTX 4090' or '2x H100'."),
    ],
)
def test_unknown_hardware_is_told_with_names_like_it(
    name: str, words: str, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(starter), "--hardware", name]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"No hardware of the name {name!r} is known; ")
    assert words in err
