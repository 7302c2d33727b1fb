"""What the fake engine is told to do: a JSON file named by ``PLIMSOLL_FAKE_ENGINE``."""

from __future__ import annotations

import time

import msgspec

from app.engine.interface import (
    MemoryKind,
)
from app.engine.protocol import (
    RemoteInfo,
)

__all__ = ["Script", "ScriptClock"]

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """What the fake does. Rates of None take no time.

    ``replies`` are given in turn; each is a text, or a list of token pieces (a text, or bytes as
    ``{"hex": "f09f"}``). ``repeat`` goes on with the reply until the token limit.

    ``speeds`` multiplies both rates where a setting has a value, as {"flash_attention=off": 2}.
    ``own_time`` lets time pass by the rates alone, for measurements that are exact.
    ``repack_kills`` ends the process where repacked kernels are tried in compatibility mode.
    """

    n_ctx: int = 4096
    n_ctx_train: int = 32768
    n_ubatch: int = 64
    memory: MemoryKind = "plain"
    swa_window: int = 0
    template: str | None = CHATML
    replies: tuple[str | tuple[str | dict[str, str], ...], ...] = ("The fake engine says hello.",)
    repeat: bool = False
    load_s: float = 0.0
    load_fails: str | None = None
    out_of_memory: bool = False
    prefill_per_s: float | None = None
    decode_per_s: float | None = None
    decode_fails_after: int | None = None
    remotes: tuple[RemoteInfo, ...] = ()
    speeds: dict[str, float] = {}
    own_time: bool = False
    repack_kills: bool = False


class ScriptClock:
    """The time as the script has it."""

    def __init__(self, script: Script) -> None:
        self._own_s: float | None = 0.0 if script.own_time else None

    def now(self) -> float:
        """Return seconds since any moment."""
        return time.perf_counter() if self._own_s is None else self._own_s

    def pass_by(self, seconds: float) -> bool:
        """Let time pass without waiting; False if it is the real one."""
        if self._own_s is None:
            return False
        self._own_s += seconds
        return True
