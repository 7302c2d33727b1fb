"""``plimsoll devices`` with computers on the network: added, listed, used, forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.cli import run
from app.paths import default_paths
from app.settings import Settings
from tests.helpers.rpc_server import free_port, rpc_server
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with rpc_server() as running:
        yield running.endpoint


def _json(capsys: Output, *arguments: str) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def _remembered() -> tuple[str, ...]:
    return tuple(Settings(default_paths().settings).get("rpc"))


def test_a_computer_is_added_used_and_forgotten(
    server: str, tmp_path: Path, capsys: Output
) -> None:
    found = _json(capsys, "devices", "--no-probe", "--add-rpc", server.upper())
    assert _remembered() == (server,)
    assert found["remotes"] == [{"endpoint": server, "devices": ["RPC0"], "problem": None}]
    cpu, remote = found["devices"]
    assert (cpu["kind"], remote["kind"]) == ("cpu", "rpc")
    assert remote["name"] == "RPC0"
    assert remote["description"] == server
    assert remote["bandwidth_source"] == remote["link_source"] == "measured"
    assert 0 < remote["round_trip_s"] < 0.1
    assert remote["link_bytes_per_s"] > 1e6
    assert cpu["round_trip_s"] is None

    # Remembered, so every command uses it.
    model = str(write_tiny_model(tmp_path / "m.gguf", TinyModel(layers=3)))
    plan = _json(capsys, "plan", model, "--bandwidth", "50")
    assert [device["name"] for device in plan["devices"]] == ["CPU", "RPC0"]
    assert plan["layers_offloaded"] == 4
    verified = _json(capsys, "verify", model, "--gpu-layers", "2")
    assert {row["device"] for row in verified["rows"]} == {"CPU", "RPC0"}
    assert verified["worst_error"] < 0.01
    assert run(["chat", model, "-p", "Hello", "--max-tokens", "3", "--temperature", "0"]) == 0
    capsys.readouterr()
    bench = _json(
        capsys, "bench", model, "--prompt", "0", "--generate", "16", "--depth", "0", "--repeat", "1"
    )
    assert bench["rows"][0]["mean"] > 0

    # And each can do without, or without a part of it.
    for flags in (["--no-rpc"], ["--devices", "none"], [f"--devices=-{server}"]):
        alone = _json(capsys, "plan", model, "--bandwidth", "50", *flags)
        assert [device["name"] for device in alone["devices"]] == ["CPU"]

    assert run(["devices", "--no-probe", "--remove-rpc", server]) == 0
    out, err = capsys.readouterr()
    assert "RPC0" not in out
    assert f"{server} is forgotten." in err
    assert _remembered() == ()
    assert run(["devices", "--no-probe", "--remove-rpc", server]) == 2
    assert "is not among the computers remembered: none." in capsys.readouterr().err


def test_an_address_that_nobody_answers_is_remembered_and_left_out(
    server: str, capsys: Output
) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    assert run(["devices", "--no-probe", "--add-rpc", nobody]) == 0
    out, err = capsys.readouterr()
    assert "RPC0" not in out
    assert f"{nobody} refuses the connection: no server runs there. It is left out." in err
    assert _remembered() == (nobody,)
    # Those of the flags are used in place of those remembered.
    assert run(["devices", "--no-probe", "--rpc", server]) == 0
    out, err = capsys.readouterr()
    assert "a round trip" in out
    assert nobody not in err


@pytest.mark.parametrize("command", ["devices", "plan", "verify", "bench", "chat"])
def test_help_tells_of_it(command: str, capsys: Output) -> None:
    with pytest.raises(SystemExit) as ended:
        run([command, "--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "--rpc HOST:PORT" in out
    assert ("--add-rpc HOST:PORT" in out) == (command == "devices")


@pytest.mark.parametrize("flag", ["--add-rpc", "--remove-rpc", "--rpc"])
def test_what_is_no_address_is_refused(flag: str, capsys: Output) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["devices", flag, "tower"])
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1
    assert "HOST:PORT" in err
    assert _remembered() == ()
