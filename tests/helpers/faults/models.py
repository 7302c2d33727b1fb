"""Faults of model files and of devices: removed, replaced, cut, overwritten, taken away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.settings import Settings
from tests.helpers.faults.ground import Ground
from tests.helpers.faults.outcome import Outcome, check
from tests.helpers.network import Network
from tests.helpers.rpc_server import rpc_server
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

__all__ = ["device_taken", "model_damaged", "model_removed"]


def _names(look: dict[str, Any], model: Path) -> bool:
    """Tell whether a notice says that a model's file is not there."""
    return any("no file" in text and model.name in text for text in look["notices"].values())


def model_removed(ground: Ground, kind: str) -> Outcome:
    """Remove the model file while it answers; the next start says that it is gone."""
    window = ground.ready(real=True)  # the scripted engine needs no file
    model = ground.engine()[0]
    question = ground.begin(window)
    model.unlink()
    ground.finished(window, question)
    window.tell("load", path=str(model))
    window.until_looks(lambda look: _names(look, model), "notice that the file is gone")
    check(window.status == "ready", f"the loaded model went, too: {window.state}")
    ground.drop()
    window, look = ground.restarted(question, loads=False)
    lost, lost_s = ground.loss(look, question, len(ground.expected), "complete")
    window.until_looks(lambda look: _names(look, model), "notice at the start")
    ground.restore_tiny()
    window.tell("load", path=str(model))
    window.until_status("ready")
    return Outcome(kind, lost, lost_s)


def model_damaged(ground: Ground, kind: str) -> Outcome:
    """Replace, cut or overwrite a model's file, before it is loaded or while it is mapped."""
    way = ground.chance.choice(["replaced", "cut", "emptied", "overwritten", "a folder"])
    if ground.chance.random() < 0.5:
        return _damaged_before_load(ground, kind, way)
    window = ground.ready(real=True)
    question = ground.begin(window, wait=False)
    _spoil(ground, way)
    # What is mapped and gone ends the engine (SIGBUS); what is changed may end it or be written
    # out as nonsense; a file that was replaced stays as it was for who has it open.
    look = ground.ended(window)
    lost, lost_s = 0, 0.0
    if way == "overwritten":
        check(len(look["path"]) == 2, "the chat lost a message")
        ground.ledger.lost(question)
    else:
        states = ("interrupted", "complete", "failed")
        lost, lost_s = ground.loss(look, question, window.shown, *states)
    then = window.status
    if then == "lost":
        said = window.state["sentence"]
        check(said.startswith("The engine "), f"said: {said}")
        if way in {"cut", "emptied"}:
            check("changed on the disk" in said or "file" in said, f"said of a cut file: {said}")
    ground.restore_tiny()
    ground.load(window)
    ground.answers(window)
    return Outcome(kind, lost, lost_s, way=f"{way} while loaded, {then}")


def _damaged_before_load(ground: Ground, kind: str, way: str) -> Outcome:
    ground.drop()
    ground.real = True
    _spoil(ground, way)
    window = ground.open()
    window.until_looks(
        lambda look: window.status in {"ready", "lost"} or bool(look["notices"]),
        "model, or a word why there is none",
    )
    if window.status != "ready":
        look = window.look()
        said = " ".join(look["notices"].values()) + window.state["sentence"]
        check(len(said) > 20, f"nothing said of a model that is {way}")
    ground.restore_tiny()
    ground.load(window)
    ground.ready(real=True)  # so that it is known what this engine answers
    ground.answers(window)
    return Outcome(kind, way=f"{way} before the load")


def _spoil(ground: Ground, way: str) -> None:
    tiny, data = ground.tiny, ground.tiny_bytes
    cut = ground.chance.randrange(1, len(data))
    if way == "replaced":
        other = write_tiny_model(tiny.with_suffix(".other"), TinyModel(layers=1, seed=7))
        other.replace(tiny)
    elif way == "cut":
        with tiny.open("r+b") as file:
            file.truncate(cut)
    elif way == "emptied":
        with tiny.open("r+b") as file:
            file.truncate(0)
    elif way == "overwritten":
        with tiny.open("r+b") as file:
            file.seek(cut)
            file.write(ground.chance.randbytes(min(50_000, len(data) - cut)))
    else:
        tiny.unlink()
        tiny.mkdir()


def device_taken(ground: Ground, kind: str) -> Outcome:
    """Cut the network to a device in mid-reply; the model loads again without it."""
    ground.drop()
    ground.real = True
    settings = Settings(ground.paths.settings)
    try:
        with rpc_server() as server, Network(server.endpoint, delay_s=0.004) as network:
            settings.set("rpc", (network.endpoint,))
            window = ground.ready(real=True)
            question = ground.begin(window)
            network.cut()
            window.until_status("lost", "ready")
            look = ground.ended(window)
            lost, lost_s = ground.loss(look, question, window.shown, "interrupted", "complete")
            check(network.endpoint in str(look["notices"]), f"said: {look['notices']}")
            server.stop()
        ground.drop()
        window, look = ground.restarted(question)
        window.until_looks(lambda look: "engine" in look["notices"], "notice of the device")
        window.until_status("ready")
        ground.answers(window)
    finally:
        Settings(ground.paths.settings).set("rpc", ())
        ground.drop()
    return Outcome(kind, lost, lost_s)
