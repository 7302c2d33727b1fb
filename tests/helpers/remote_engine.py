"""Plans and replies of an engine that uses devices of other computers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from app.engine.client import EngineClient
from app.engine.protocol import LoadOptions
from app.machine import machine_for
from gguf_tools.facts import read_facts
from gguf_tools.plan import Plan, make_plan
from inspector.planned import load_settings

__all__ = ["MIB", "ROUNDING", "Speaks", "plan_of"]

MIB = 1 << 20
ROUNDING = 2 * 5243  # the log prints sizes to 0.01 MiB


def plan_of(client: EngineClient, path: Path, options: LoadOptions) -> Plan:
    """Return the plan of a model on the devices that a running engine told of."""
    assert client.hello is not None
    facts = read_facts(str(path))
    machine = machine_for(client.hello, None, options)
    return make_plan(facts, load_settings(msgspec.to_builtins(options), facts), machine)


class Speaks:
    """What `generate` needs of a driver, over a client that runs."""

    def __init__(self, client: EngineClient) -> None:
        self._client = client

    def new_id(self) -> int:
        return self._client.new_id()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)
