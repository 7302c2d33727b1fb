"""``plimsoll plan`` says where it takes something else than was asked for, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.cli import run
from tests.helpers.shape_gguf import ShapeModel
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ("1000", ["--ctx is taken as 1,024: contexts come in steps of 256 a chat."]),
        ("2048", []),
        ("4096", []),
    ],
)
def test_a_context_that_is_rounded_or_too_long_is_told(
    context: str, said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_tiny_model(tmp_path / "tiny.gguf", TinyModel(context=2048))
    assert run(["plan", str(path), "--ctx", context, "--hardware", "RTX 3090"]) == 0
    shown = capsys.readouterr()
    told = [line for line in shown.err.splitlines() if "--ctx" in line]
    assert [line.removeprefix("plimsoll: ") for line in told] == said
    assert ("the model was trained for 2,048" in shown.out) is (context == "4096")
    assert "B a token with 0 tokens in the cache" in shown.out
    assert "launching its kernels takes (assumed)" in shown.out


def test_the_longest_context_and_the_chats_keep_below_the_load_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 8B with 128 KiB of cache a token on a card of 8 GB.
    path = str(ShapeModel().builder().write(tmp_path / "m.gguf"))

    def planned(*options: str) -> dict[str, Any]:
        assert run(["plan", path, "--hardware", "RTX 4060", "--json", *options]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    def over(plan: dict[str, Any]) -> bool:
        return any(item["over_load_line"] for item in plan["devices"])

    longest = planned("--ctx", "1024")["max_context"]
    assert not over(planned("--ctx", str(longest)))
    past = planned("--ctx", str(longest + 512))
    assert over(past)
    assert past["fits"] is True
    chats = planned("--ctx", "1024")["max_sequences"]
    each = ("--sequences", str(chats))
    assert not over(planned("--ctx", str(1024 * chats), *each))
    more = ("--sequences", str(chats + 1))
    assert over(planned("--ctx", str(1024 * (chats + 1)), *more))
    assert run(["plan", path, "--hardware", "RTX 4060", "--ctx", str(longest + 512)]) == 0
    said = capsys.readouterr().out
    assert "Fits             yes, over the load line\n" in said
    assert f"Below load line  longest context {longest:,} tokens; chats of this length 0\n" in said


def test_a_small_prompt_on_a_large_card_is_held_by_launches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = str(write_tiny_model(tmp_path / "tiny.gguf", TinyModel(context=2048)))
    large = str(ShapeModel().builder().write(tmp_path / "m.gguf"))
    for path, said in ((small, "launching kernels holds it, assumed"), (large, "table arithmetic")):
        assert run(["plan", path, "--hardware", "H100 SXM", "--ctx", "2048"]) == 0
        (line,) = (row for row in capsys.readouterr().out.splitlines() if "Prefill" in row)
        assert f"({said}" in line


def _told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.removeprefix("plimsoll: ") for line in capsys.readouterr().err.splitlines()]


def test_hardware_that_means_nothing_ends_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write_tiny_model(tmp_path / "tiny.gguf", TinyModel(context=2048)))
    assert run(["plan", path, "--hardware", "99999x RTX 4090"]) == 2
    (said,) = _told(capsys)
    assert (
        said
        == "llama.cpp takes at most 14 devices, not 99,999; name fewer, such as '14x RTX 4090'."
    )
    assert run(["plan", path, "--hardware", "abacus"]) == 2
    (said,) = _told(capsys)
    assert said.startswith("No hardware of the name 'abacus' is known; ")


@pytest.mark.parametrize(
    ("hardware", "code", "said"),
    [
        ("RTX 3090", 2, "has 3 parts for 1 device: NVIDIA GeForce RTX 3090."),
        (
            "2x RTX 3090",
            2,
            "has 3 parts for 2 devices: NVIDIA GeForce RTX 3090 0, NVIDIA GeForce RTX 3090 1.",
        ),
        ("3x RTX 3090", 0, ""),
        (
            "AMD Ryzen 9 7950X",
            0,
            "changes nothing: AMD Ryzen 7000 has no device but the processor.",
        ),
    ],
)
def test_a_split_is_taken_as_the_engine_takes_it(
    hardware: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write_tiny_model(tmp_path / "tiny.gguf", TinyModel(context=2048)))
    assert run(["plan", path, "--hardware", hardware, "--tensor-split", "3,1,1"]) == code
    told = [line for line in _told(capsys) if "--tensor-split" in line]
    assert told == ([f"--tensor-split {said}"] if said else [])


@pytest.mark.parametrize(
    "options", [("--sequences", "5000"), ("--flash-attention", "off", "--type-v", "q8_0")]
)
def test_what_the_engine_refuses_is_not_said_to_fit(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write_tiny_model(tmp_path / "tiny.gguf", TinyModel(context=2048)))
    asked = ["plan", path, "--hardware", "RTX 3090", *options]
    assert run(asked) == 0
    shown = capsys.readouterr().out
    assert "Fits             no, the engine refuses to load it so\n" in shown
    assert shown.count("\n✗ ") == 1
    assert run([*asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fits"] is False
