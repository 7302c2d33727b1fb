from __future__ import annotations

import pytest

from gguf_tools.split import device_names, is_named, leave_out, parse_split

DEVICES = (("RPC0", "10.0.0.5:50052"), ("CUDA0", "NVIDIA GeForce RTX 4090"), ("CUDA1", "Tesla P40"))


def _chosen(text: str | None) -> list[str]:
    names = device_names(text)
    return [name for name, description in DEVICES if is_named(names, name, description)]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        (None, ["RPC0", "CUDA0", "CUDA1"]),
        ("none", []),
        ("", []),
        ("cuda1, rpc0", ["RPC0", "CUDA1"]),
        ("10.0.0.5:50052", ["RPC0"]),
        ("tesla p40", ["CUDA1"]),
        ("-10.0.0.5:50052", ["CUDA0", "CUDA1"]),
        ("CUDA0,CUDA1,-cuda1", ["CUDA0"]),
        ("nothing", []),
    ],
)
def test_devices_are_chosen_by_name_or_address(text: str | None, chosen: list[str]) -> None:
    assert _chosen(text) == chosen


def test_leaving_out_adds_to_what_was_chosen() -> None:
    assert _chosen(leave_out(None, ["10.0.0.5:50052"])) == ["CUDA0", "CUDA1"]
    text = leave_out("RPC0,CUDA0", ["10.0.0.5:50052"])
    assert _chosen(text) == ["CUDA0"]
    assert leave_out(text, ["10.0.0.5:50052"]) == text


def test_parts() -> None:
    assert parse_split("3,1") == (3.0, 1.0)
    assert parse_split("0 / 2.5") == (0.0, 2.5)
    assert parse_split(None) == parse_split(" ") == ()


@pytest.mark.parametrize("text", ["a", "1,b", "-1,2", "0,0", "nan", "inf,1", "1,,2"])
def test_what_is_no_split_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="is no split"):
        parse_split(text)
