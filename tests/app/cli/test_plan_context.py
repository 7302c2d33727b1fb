"""``plimsoll plan --ctx`` says where a context is not the one asked for, or too long a one."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cli import run
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
