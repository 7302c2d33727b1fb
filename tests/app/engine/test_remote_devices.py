"""The real engine with a device over RPC: what lies where, and which devices are used."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine.client import EngineClient, RequestFailed
from app.engine.launch import REMOTES_VARIABLE
from app.engine.protocol import (
    DryRan,
    DryRun,
    LoadOptions,
    ModelInfo,
)
from app.machine import machine_for
from tests.helpers.remote_engine import ROUNDING, plan_of
from tests.helpers.rpc_server import RpcServer, free_port, rpc_server

WORDS = tuple(f" word{i}" for i in range(30))


def _sizes(info: ModelInfo) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for item in info.buffers:
        key = (item.device.removesuffix("_Mapped"), item.what)
        found[key] = found.get(key, 0) + item.size_bytes
    return found


@pytest.mark.parametrize("gpu_layers", [-1, 3])
def test_buffers_by_device_are_the_plans(model: Path, server: RpcServer, gpu_layers: int) -> None:
    options = LoadOptions(n_ctx=1024, gpu_layers=gpu_layers, mmap=False)
    with EngineClient(remotes=[server.endpoint]) as client:
        plan = plan_of(client, model, options)
        info = client.load(str(model), options)
    assert info.devices_used == ("RPC0",)
    assert info.layers_offloaded == plan.layers_offloaded == (7 if gpu_layers < 0 else 3)
    sizes = _sizes(info)
    for device in plan.devices:
        name, memory = device.device.name, device.memory
        for what, planned in (
            ("weights", memory.weights_bytes),
            ("kv", memory.kv_bytes),
            ("compute", memory.compute_bytes),
        ):
            # Weights on the processor are repacked or not; both are the same size in f32.
            assert sizes.get((name, what), 0) == pytest.approx(planned, abs=ROUNDING), (name, what)


def test_the_plan_is_the_engines_dry_run(model: Path, server: RpcServer) -> None:
    options = LoadOptions(n_ctx=2048, gpu_layers=4)
    with EngineClient(remotes=[server.endpoint]) as client:
        plan = plan_of(client, model, options)
        request = DryRun(id=client.new_id(), path=str(model), options=options)
        answer = client.call(request, DryRan)
    engine = {(b.device, b.what): b.size_bytes for b in answer.buffers}
    for device in plan.devices:
        memory = device.memory
        assert engine[device.device.name, "weights"] == memory.weights_bytes
        assert engine[device.device.name, "cache"] == memory.kv_bytes
        assert engine[device.device.name, "compute"] == pytest.approx(
            memory.compute_bytes, rel=plan.memory.compute_margin
        )


def test_the_hello_tells_devices_network_and_who_is_missing(server: RpcServer) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    notices: list[str] = []
    with EngineClient(remotes=[nobody, server.endpoint], on_notice=notices.append) as client:
        hello = client.hello
        assert hello is not None
        (device,) = (item for item in hello.devices if item.backend == "RPC")
        assert (device.name, device.description) == ("RPC0", server.endpoint)
        assert device.kind == "gpu"
        assert device.round_trip_s is not None
        assert device.link_bytes_per_s is not None
        assert device.bandwidth_bytes_per_s is not None
        assert [item.devices for item in hello.remotes] == [(), ("RPC0",)]
        assert "refuses the connection" in hello.remotes[0].problem
        machine = machine_for(hello, None)
    assert notices == [f"{hello.remotes[0].problem} It is left out."]
    (remote,) = machine.accelerators
    assert remote.kind == "rpc"
    assert remote.bandwidth_basis == remote.link_basis == "measured"
    assert remote.round_trip_s == device.round_trip_s


def test_addresses_come_from_the_environment_if_nobody_gives_others(
    server: RpcServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REMOTES_VARIABLE, server.endpoint)
    with EngineClient() as client:
        assert client.hello is not None
        assert [item.endpoint for item in client.hello.remotes] == [server.endpoint]
    with EngineClient(remotes=()) as client:
        assert client.hello is not None
        assert client.hello.remotes == ()
        assert all(item.backend != "RPC" for item in client.hello.devices)


@pytest.mark.parametrize("chosen", ["none", "ENDPOINT", "-ENDPOINT", "-rpc0", "rpc0"])
def test_devices_are_chosen(model: Path, server: RpcServer, chosen: str) -> None:
    text = chosen.replace("ENDPOINT", server.endpoint)
    used = chosen in {"ENDPOINT", "rpc0"}
    with EngineClient(remotes=[server.endpoint]) as client:
        info = client.load(str(model), LoadOptions(n_ctx=512, devices=text))
        plan = plan_of(client, model, LoadOptions(n_ctx=512, devices=text))
    assert info.notices == ()
    assert info.devices_used == (("RPC0",) if used else ())
    assert info.layers_offloaded == plan.layers_offloaded == (7 if used else 0)
    assert any(item.device == "RPC0" for item in info.buffers) == used


def test_a_device_that_is_not_there_is_named(model: Path, server: RpcServer) -> None:
    with EngineClient(remotes=[server.endpoint]) as client:
        info = client.load(str(model), LoadOptions(n_ctx=512, devices="CUDA3,RPC0"))
        assert info.devices_used == ("RPC0",)
        assert info.notices == ("There is no device cuda3; the model lies on RPC0.",)
        info = client.load(str(model), LoadOptions(n_ctx=512, devices="CUDA3"))
        assert info.layers_offloaded == 0
        assert info.notices == ("There is no device cuda3; the model lies on the processor alone.",)


def test_two_devices_take_the_parts_they_are_given(model: Path, server: RpcServer) -> None:
    with rpc_server() as second, EngineClient(remotes=[server.endpoint, second.endpoint]) as client:
        for split, layers in (("3,1", None), ("0,1", 0), (None, None)):
            options = LoadOptions(n_ctx=512, tensor_split=split, mmap=False)
            plan = plan_of(client, model, options)
            sizes = _sizes(client.load(str(model), options))
            planned = {item.device.name: item.memory.weights_bytes for item in plan.devices}
            for name in ("RPC0", "RPC1"):
                assert sizes.get((name, "weights"), 0) == pytest.approx(planned[name], abs=ROUNDING)
            if layers == 0:
                assert planned["RPC0"] == 0
            # While a model lies there, a dry run has the devices too.
            request = DryRun(id=client.new_id(), path=str(model), options=options)
            found = {
                item.device: item.size_bytes
                for item in client.call(request, DryRan).buffers
                if item.what == "weights"
            }
            assert found == planned
        with pytest.raises(RequestFailed, match="has 3 parts for 2 devices"):
            client.load(str(model), LoadOptions(n_ctx=512, tensor_split="1,1,1"))
        with pytest.raises(RequestFailed, match="is no split"):
            client.load(str(model), LoadOptions(n_ctx=512, tensor_split="all"))
