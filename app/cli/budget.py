"""What ``plan`` and ``verify`` share: their flags, the machine, and the plan itself.

Flags say what a load would say, and what is left out is what the engine would take, so that a
plan is about the load that would happen.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from app.cli.engine import open_engine
from app.cli.folders import open_settings
from app.cli.numbers import whole
from app.cli.options import add_cache_flag, add_flag, add_remote_flags, remotes
from app.cli.terminal import note
from app.data.probe import host_memory
from app.data.state import StateFile
from app.engine.client import EngineError
from app.engine.protocol import Hello, LoadOptions
from app.engine.threads import clamp_threads
from app.machine import bandwidth_for, hardware_table, processor, state_file
from app.machines import Machines
from app.settings import declared
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError
from gguf_tools.machine import Machine
from gguf_tools.plan import Plan
from gguf_tools.settings import LoadSettings
from gguf_tools.split import device_names, parse_split
from inspector.planned import load_settings as loaded_with

__all__ = [
    "ThisComputer",
    "add_budget_flags",
    "load_options",
    "load_settings",
    "named_machine",
    "plannable_facts",
    "this_computer",
    "unknown_hardware",
]

DEFAULT_CONTEXT: Final = 8192  # as the engine takes it
_FLAGS: Final = (
    "n_ctx",
    "type_k",
    "type_v",
    "gpu_layers",
    "n_batch",
    "n_ubatch",
    "flash_attention",
    "swa_full",
    "devices",
    "tensor_split",
)


def add_budget_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the file and how it would be loaded."""
    parser.add_argument("file", help="a .gguf file; any part of a split model")
    group = parser.add_argument_group("how it would be loaded")
    for key in _FLAGS:
        add_flag(group, declared("load", key))
    add_cache_flag(group)
    group.add_argument(
        "--sequences",
        "--parallel",
        type=whole(1, 65_536),
        default=1,
        metavar="N",
        help="chats at once",
    )
    add_remote_flags(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def plannable_facts(path: str) -> ModelFacts | None:
    """Return what a file says, None with a sentence on stderr where nothing can be planned."""
    try:
        facts = read_facts(path)
    except HeaderError as error:
        note(error)
        return None
    if not facts.complete:
        note(facts.warnings[0])
        return None
    if facts.shape is None:
        note(f"This file is a {facts.kind}: there is nothing to plan.")
        return None
    return facts


def context_of(arguments: argparse.Namespace, facts: ModelFacts) -> int:
    """Return the context asked for, or the one that the engine takes by itself."""
    if arguments.n_ctx is not None:
        return int(arguments.n_ctx)
    return min(facts.context_length or DEFAULT_CONTEXT, DEFAULT_CONTEXT)


def load_settings(arguments: argparse.Namespace, facts: ModelFacts) -> LoadSettings:
    """Return the settings of a load as the planner takes them."""
    return LoadSettings(
        context=context_of(arguments, facts),
        type_k=_asked(arguments, "type_k"),
        type_v=_asked(arguments, "type_v"),
        gpu_layers=_asked(arguments, "gpu_layers"),
        batch=_asked(arguments, "n_batch"),
        ubatch=_asked(arguments, "n_ubatch"),
        sequences=arguments.sequences,
        unified=arguments.sequences > 1,
        flash_attention=_asked(arguments, "flash_attention"),
        swa_full=_asked(arguments, "swa_full"),
        split=parse_split(arguments.tensor_split),
    )


def _asked(arguments: argparse.Namespace, key: str) -> Any:
    """Return what was asked for, or the setting's default."""
    value = getattr(arguments, key)
    return declared("load", key).default if value is None else value


def load_options(load: LoadSettings, arguments: argparse.Namespace) -> LoadOptions:
    """Return the same settings as the engine takes them."""
    return LoadOptions(
        n_ctx=load.context,
        gpu_layers=load.gpu_layers,
        type_k=load.type_k,
        type_v=load.type_v,
        flash_attention=load.flash_attention,
        n_batch=load.batch,
        n_ubatch=load.ubatch,
        swa_full=load.swa_full,
        sequences=load.sequences,
        compatibility=not load.extra_buffers,
        devices=arguments.devices,
        tensor_split=arguments.tensor_split,
    )


@dataclass(frozen=True, slots=True)
class ThisComputer:
    """What a load would meet here: the machine, the settings it would get, and known rates.

    ``fitted`` returns a plan with decoding predicted by what was measured before.
    """

    machine: Machine
    load: LoadSettings
    fitted: Callable[[Plan], Plan]


def this_computer(
    arguments: argparse.Namespace, facts: ModelFacts, *, measure: bool = True
) -> ThisComputer:
    """Return this computer as its engine sees it; its processor alone if the engine is silent.

    Args:
        arguments: how the model would be loaded, and which other computers are used.
        facts: the model, whose bytes per token are the size at which main memory is measured.
        measure: measure main memory where no probe of this size is kept.
    """
    state, settings = state_file(), open_settings()
    load = load_settings(arguments, facts)
    try:
        with open_engine(state, note, remotes(arguments, settings)) as client:
            hello = client.hello
    except EngineError as error:
        note(f"Only the processor is planned for: {error}")
        bare = Machine(name="this computer", cpu=processor())
        return ThisComputer(bare, load, lambda plan: plan)
    assert hello is not None
    machines = Machines(state, hello, may_measure=False, tuned=bool(settings.get("tune")))
    options = machines.options(facts, msgspec.to_builtins(load_options(load, arguments)))
    size = facts.bytes_read_per_token or facts.weights_bytes
    if measure:
        _measure(state, hello.cpu, clamp_threads(options.threads), size)
    machine = machines.of(size, options)
    absent = _absent(arguments.devices, hello)
    if absent:
        used = ", ".join(item.name for item in machine.accelerators) or "the processor"
        note(f"There is no device {', '.join(absent)}; the plan is for {used}.")
    settled = loaded_with(msgspec.to_builtins(options), facts)
    if (settled.flash_attention, settled.ubatch) != (load.flash_attention, load.ubatch):
        note(
            "Planned as it was measured to be fastest here: flash attention "
            f"{settled.flash_attention}, micro-batch {settled.ubatch}."
        )
    return ThisComputer(machine, settled, lambda plan: machines.fitted(plan, options))


def _absent(devices: str | None, hello: Hello) -> list[str]:
    """Return the devices that were named and that the engine doesn't have."""
    known = {word.casefold() for item in hello.devices for word in (item.name, item.description)}
    names = device_names(devices) or frozenset()
    return sorted(name for name in names if name.removeprefix("-") not in known)


def _measure(state: StateFile, cpu: str, threads: int, size: int) -> None:
    try:
        bandwidth_for(state, cpu, threads, size, free_bytes=host_memory().free_bytes)
    except MemoryError:
        note("There is no room to measure the memory's bandwidth.")


def unknown_hardware(name: str) -> str:
    """Say that no hardware of a name is known, and which names are like it."""
    names = [row.name for row in hardware_table().rows]
    words = name.lower().split()
    alike = [known for known in names if all(word in known.lower() for word in words)]
    alike = alike or get_close_matches(name, names, n=6, cutoff=0.4)
    hint = f"like it are {', '.join(alike[:6])}" if alike else "name it as 'RTX 4090' or '2x H100'"
    return f"No hardware of the name {name!r} is known; {hint}."


def named_machine(name: str) -> Machine | None:
    """Return a machine with the hardware named, None if no such name is known.

    Raises:
        ValueError: more devices are asked for than llama.cpp takes; the text is one sentence.
    """
    return hardware_table().machine(name, processor())
