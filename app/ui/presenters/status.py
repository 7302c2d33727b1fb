"""What the status line and the header say of the engine and its model."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from app.engine.outcome import remote_devices
from app.engine.protocol import ModelInfo
from app.engine.qt_client import EngineState
from app.ui.presenters.model_names import FileLook
from app.ui.shell.views import HeaderModel, Segment, Severity, StatusFacts
from gguf_tools.machine import PARTLY_CACHED, bandwidth_how
from gguf_tools.units import format_bandwidth
from inspector.plan_record import PlanRecord

__all__ = ["Bandwidth", "elsewhere", "header_model", "plan_bandwidth", "status_facts"]


class Bandwidth(NamedTuple):
    """What the plan reckons with: a device's rate of reading, and how that is known.

    ``is_cached``: a model of this size is read faster than main memory; ``basis`` says how fast
    that is.
    """

    device: str
    bytes_per_s: float
    basis: str
    is_cached: bool = False


def _tr(text: str) -> str:
    return QCoreApplication.translate("Status", text)


def status_facts(state: EngineState, bandwidth: Bandwidth | None = None) -> StatusFacts:
    """Return backend, device and its bandwidth, threads, flash attention, cache type; at the
    end the state.
    """
    left: list[Segment] = []
    if state.hello is not None:
        gpus = [d for d in state.hello.devices if d.kind in {"gpu", "igpu"}]
        device = gpus[0] if gpus else (state.hello.devices[0] if state.hello.devices else None)
        if device is not None:
            name = device.description or device.name
            if device.kind == "cpu":
                name = state.hello.cpu or name
            text, short, tip = (
                f"{device.backend} · {name}",
                name,
                f"{state.hello.engine}\n{state.hello.system_info}",
            )
            if bandwidth is not None and bandwidth.device == device.name:
                rate = format_bandwidth(bandwidth.bytes_per_s)
                short += f" · {rate}"
                named = _tr("{0} partly from cache") if bandwidth.is_cached else "{0}"
                text += " · " + named.format(rate)
                tip += "\n" + _tr("Memory is read at {0} ({1}).").format(rate, bandwidth.basis)
            left.append(Segment(text, tip, short=short))
    if state.model is not None:
        left.extend(_model_segments(state.model))
    if state.compatibility:
        left.append(
            Segment(
                _tr("Compatibility mode"),
                _tr("AMX is off: it stops the engine on this processor.")
                if state.model is not None and state.model.repacked
                else _tr(
                    "AMX and repacked kernels are off: they stop the engine on this processor."
                ),
                "warning",
                _tr("Compatibility"),
            )
        )
    return StatusFacts(tuple(left), (_engine_segment(state),))


def _model_segments(model: ModelInfo) -> list[Segment]:
    segments = []
    if model.layers_offloaded:
        segments.append(
            Segment(
                _tr("{0} of {1} layers on {2}").format(
                    model.layers_offloaded,
                    model.layers_total,
                    ", ".join(model.devices_used) or _tr("the GPU"),
                ),
                short=_tr("{0} of {1} layers").format(model.layers_offloaded, model.layers_total),
            )
        )
    threads = _tr("{0} threads") if model.threads != 1 else _tr("{0} thread")
    segments.append(
        Segment(
            threads.format(model.threads),
            _tr("{0} for decode, {1} for prefill").format(model.threads, model.threads_batch),
        )
    )
    if model.flash_attention is not None:
        segments.append(
            Segment(
                _tr("Flash attention on") if model.flash_attention else _tr("Flash attention off"),
                short=_tr("Flash on") if model.flash_attention else _tr("Flash off"),
            )
        )
    cache = model.type_k if model.type_k == model.type_v else f"{model.type_k}/{model.type_v}"
    segments.append(Segment(_tr("KV {0}").format(cache)))
    return segments


def _engine_segment(state: EngineState) -> Segment:
    words = {
        "stopped": _tr("Engine off"),
        "starting": _tr("Engine starting"),
        "idle": _tr("Engine ready, no model"),
        "loading": _tr("Loading the model"),
        "ready": _tr("Engine ready"),
        "measuring": _tr("Measuring what is fastest"),
        "prefill": _tr("Reading the prompt"),
        "decode": _tr("Engine running"),
        "lost": _tr("Engine lost"),
    }
    text = short = _tr("Engine does not answer") if state.silent_s else words[state.status]
    if state.pid is not None:
        text = f"{text} · pid {state.pid}"
    if state.status == "measuring":
        short = _tr("Measuring")
    severity: Severity = "error" if state.status == "lost" else "info"
    if state.silent_s:
        severity = "warning"
    return Segment(text, state.sentence, severity, short)


def plan_bandwidth(plan: PlanRecord | None) -> Bandwidth | None:
    """Return the rate of the device that holds most of the weights, None where that is unknown."""
    devices = () if plan is None else plan.devices
    lead = max(devices, key=lambda item: item.weights_bytes, default=None)
    if lead is None or lead.bandwidth_bytes_per_s is None:
        return None
    return Bandwidth(
        lead.name,
        lead.bandwidth_bytes_per_s,
        bandwidth_how(lead.bandwidth_basis, lead.bandwidth_note),
        PARTLY_CACHED in lead.bandwidth_note,
    )


def elsewhere(state: EngineState) -> str:
    """Return the addresses of other computers that the model runs on, empty for none."""
    if state.model is None:
        return ""
    remote = remote_devices(state.model.devices, state.model.devices_used)
    return ", ".join(device.description for device in remote)


def header_model(state: EngineState, look: FileLook) -> HeaderModel:
    """Return the model in the header's pill; ``look`` is what its file says."""
    path = state.path
    if path is None:
        return HeaderModel()
    try:
        size_bytes: int | None = Path(path).stat().st_size
    except OSError:
        size_bytes = None
    kinds = {"loading": "loading", "lost": "lost", "ready": "loaded", "prefill": "loaded"}
    kinds["decode"] = kinds["measuring"] = "loaded"
    return HeaderModel(
        state=kinds.get(state.status, "none"),  # type: ignore[arg-type]
        name=look.name if state.model is None else state.model.name,
        quantization=look.quantization,
        size_bytes=size_bytes,
        progress=state.fraction if state.status == "loading" else None,
        detail=state.sentence or path,
    )
