"""Repacked kernels in compatibility mode: which matrices are named, and what if they kill."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from app.data.state import StateFile
from app.engine.backend.engine import LlamaEngine
from app.engine.backend.model import LlamaModel
from app.engine.backend.repacking import patterns
from app.engine.client import EngineClient, WorkerDied
from app.engine.interface import QuantizeJob
from app.engine.protocol import Fault, LoadOptions, SamplingOptions
from app.paths import Paths
from gguf_tools.header import open_header
from tests.app.engine.conftest import FakeScript
from tests.helpers.engine import QtDriver
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model
from tests.helpers.window import Program

Q4_0, Q4_K_M = 2, 15
WIDE = TinyModel(embedding=256, heads=4, kv_heads=4, head_length=64, feed_forward=512, layers=3)


@pytest.fixture(scope="module")
def engine() -> LlamaEngine:
    return LlamaEngine()


def variant(engine: LlamaEngine, folder: Path, file_type: int) -> Path:
    source = write_tiny_model(folder / "tiny.gguf", WIDE)
    target = folder / f"tiny-{file_type}.gguf"
    job = QuantizeJob(
        source=str(source), target=str(target), file_type=file_type, allow_requantize=False,
        threads=1, imatrix={}, metadata={},
    )  # fmt: skip
    engine.quantize(job, lambda _done, _all: None)
    return target


def test_only_matrices_with_such_kernels_are_named(engine: LlamaEngine, tmp_path: Path) -> None:
    header = open_header(variant(engine, tmp_path, Q4_K_M))
    names = patterns(header, frozenset({"avx2"}))
    matched = {
        name for name in header.tensors if any(re.search(pattern, name) for pattern in names)
    }
    types = {name: tensor.type.name for name, tensor in header.tensors.items()}
    assert matched == {
        name
        for name, kind in types.items()
        if kind == "Q4_K" and re.match(r"blk\.\d+\.(attn|ffn)_\w+\.weight", name)
    }
    assert "Q6_K" in {types[name] for name in types if name.startswith("blk.")}  # a mixture
    assert len(names) <= 7  # one a kind, however many layers
    assert patterns(header, frozenset()) == []
    assert patterns(open_header(tmp_path / "tiny.gguf"), frozenset({"avx2"})) == []  # F32


def loaded(engine: LlamaEngine, path: Path, **options: Any) -> LlamaModel:
    return engine.load(str(path), LoadOptions(n_ctx=512, **options), lambda _fraction: True)


def written(model: LlamaModel) -> list[int]:
    """Return what it writes after a prompt, always its likeliest token."""
    model.decode([5 + index % 200 for index in range(48)], 0)
    sampler = model.sampler(SamplingOptions(temperature=0), [])
    tokens = []
    for position in range(48, 64):
        tokens.append(sampler.sample())
        model.decode(tokens[-1:], position)
    sampler.close()
    return tokens


@pytest.fixture
def usual(engine: LlamaEngine, tmp_path: Path) -> tuple[Path, int, list[int]]:
    """A variant, the bytes that its usual load repacks, and what it writes then."""
    path = variant(engine, tmp_path, Q4_0)
    model = loaded(engine, path)
    repacked = sum(item.size_bytes for item in model.info.buffers if item.device == "CPU_REPACK")
    tokens = written(model)
    model.close()
    if not repacked:
        pytest.skip("this engine build repacks nothing on this processor")
    return path, repacked, tokens


def test_the_same_is_repacked_and_written_as_usual(
    engine: LlamaEngine, usual: tuple[Path, int, list[int]]
) -> None:
    path, repacked, tokens = usual
    model = loaded(engine, path, compatibility=True, repack=True)
    assert model.info.repacked
    assert model.info.compatibility
    found = sum(item.size_bytes for item in model.info.buffers if item.device == "CPU_REPACK")
    assert 0.5 * repacked < found <= repacked
    assert written(model) == tokens
    model.close()
    plain = loaded(engine, path, compatibility=True)
    assert not plain.info.repacked
    assert all(item.device != "CPU_REPACK" for item in plain.info.buffers)
    plain.close()


def test_where_nothing_repacks_the_load_is_the_plain_one(
    engine: LlamaEngine, tmp_path: Path
) -> None:
    path = write_tiny_model(tmp_path / "f32.gguf")
    model = loaded(engine, path, compatibility=True, repack=True)
    assert not model.info.repacked
    model.close()
    usual = loaded(engine, path, repack=True)  # not in that mode: nothing to do
    assert not usual.info.repacked
    usual.close()


# --- an engine that dies of it


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"")
    return path


def client_of(state: StateFile) -> EngineClient:
    from app.cli.engine import open_engine

    return open_engine(state, lambda _text: None)


@pytest.mark.usefixtures("faults")
@pytest.mark.parametrize("kills", [False, True])
def test_the_ladder_goes_down_one_step_at_a_time(
    kills: bool, model: Path, fake_script: FakeScript
) -> None:
    fake_script(repack_kills=kills)
    state = StateFile(None)
    with client_of(state) as client:
        request = Fault(id=client.new_id(), signal="SIGILL", phase="load")
        client.send(request)
        list(client.messages(request.id))
        info = client.load(str(model))
        assert info.compatibility
        assert info.repacked is not kills
        assert client.hello is not None
        assert state.repack_fails(client.hello.cpu, client.hello.engine) is kills
    with client_of(state) as client:  # what failed is not tried again
        assert client.load(str(model)).repacked is not kills
        by_hand = client.load(str(model), LoadOptions(compatibility=True))
        assert not by_hand.repacked


@pytest.mark.usefixtures("faults")
def test_another_end_is_not_held_against_it(model: Path, fake_script: FakeScript) -> None:
    fake_script()
    state = StateFile(None)
    with client_of(state) as client:
        assert client.hello is not None
        state.set_compatibility(client.hello.cpu, client.hello.engine, True)
    with client_of(state) as client:
        assert client.hello is not None
        request = Fault(id=client.new_id(), signal="SIGKILL", phase="load")
        client.send(request)
        list(client.messages(request.id))
        with pytest.raises(
            WorkerDied, match=r"(killed|ended from outside) while loading the model"
        ):
            client.load(str(model))
        assert not state.repack_fails(client.hello.cpu, client.hello.engine)


@pytest.mark.parametrize("kills", [False, True])
def test_the_window_does_the_same(
    kills: bool, qtbot: Any, paths: Paths, model: Path, fake_script: FakeScript
) -> None:
    fake_script(repack_kills=kills)
    driver = QtDriver(qtbot)
    hello = driver.engine.state.hello
    assert hello is not None
    driver.close()
    StateFile(paths.state).set_compatibility(hello.cpu, hello.engine, True)
    program = Program(qtbot, paths, model).ready()
    info = program.app.engine.state.model
    assert info is not None
    assert info.compatibility
    assert info.repacked is not kills
    assert program.app.state.repack_fails(hello.cpu, hello.engine) is kills
    program.app.models.reload({"compatibility": True})  # what is asked for by hand is all of it
    program.until(lambda: program.app.engine.state.status == "loading")
    program.ready()
    info = program.app.engine.state.model
    assert info is not None
    assert not info.repacked
    program.close()
