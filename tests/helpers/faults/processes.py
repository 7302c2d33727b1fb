"""Faults of processes: engine and window killed or suspended at any moment, jumps of the clock."""

from __future__ import annotations

import os
import signal
import time
from typing import Final

from tests.helpers.faults.ground import Ground
from tests.helpers.faults.outcome import Outcome, check
from tests.helpers.window_process import WindowProcess

__all__ = ["clock_jumped", "window_killed", "window_stopped", "worker_killed", "worker_stopped"]

_FAR_S: Final = 40 * 365 * 86_400
_DRAFT_KEPT_S: Final = 2.0  # a second after the last key, and some for a busy machine
_WIDTHS: Final = range(600, 1200)


def worker_killed(ground: Ground, kind: str) -> Outcome:
    """End the engine while it loads, reads, writes or idles; load again."""
    window = ground.ready()
    phase = ground.chance.choice(["load", "prefill", "decode", "decode", "idle"])
    number = ground.chance.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
    question = ""
    if phase == "load":
        before = window.state["pid"]
        window.tell("load", path=str(ground.engine()[0]))
        window.until(lambda: window.state["pid"] not in {before, None}, "another engine")
        time.sleep(ground.chance.uniform(0.0, 0.15))
    elif phase == "prefill":
        question = f"{ground.rounds} {'word ' * 60}".strip()
        ground.ask(window, question)
        window.until_status("prefill", "decode", "ready")
    elif phase == "decode":
        question = ground.begin(window)
    pid = window.state["pid"]
    if pid is not None:
        os.kill(pid, number)
    window.until_status("lost")
    check(window.state["sentence"].startswith("The engine "), f"said: {window.state}")
    lost, lost_s = 0, 0.0
    if question:
        look = ground.ended(window)
        states = ("interrupted", "complete") if window.shown else ("interrupted", "failed")
        lost, lost_s = ground.loss(look, question, window.shown, *states)
        check("engine-lost" in look["notices"], f"no notice of the loss: {look['notices']}")
    ground.load(window)
    ground.answers(window)
    return Outcome(kind, lost, lost_s, way=f"{number.name}, {phase}")


def window_killed(ground: Ground, kind: str) -> Outcome:
    """End the window in a reply or a load; settings, drafts and what was answered are there."""
    if ground.chance.random() < 0.3:
        return _killed_in_load(ground, kind)
    window = ground.ready()
    width = ground.chance.choice(_WIDTHS)
    window.tell("set", key="transcript_width", value=width)
    draft = f"half a thought {ground.rounds}"
    question = ground.begin(window, wait=False)
    window.tell("type", text=draft)
    typed_s = time.monotonic()
    wait_s = ground.chance.choice([ground.chance.uniform(0.0, 1.1), _DRAFT_KEPT_S])
    time.sleep(wait_s)
    old_enough = time.monotonic() - typed_s >= _DRAFT_KEPT_S
    ground.drop()
    shown = window.shown
    window, look = ground.restarted(question)
    lost, lost_s = ground.loss(look, question, shown, "interrupted", "complete")
    check(look["width"] == width, f"a setting is lost: {look['width']} for {width}")
    check(look["draft"] in {"", draft}, f"the draft became {look['draft']!r}")
    check(look["draft"] == draft or not old_enough, "the draft is lost")
    window.tell("type", text="")
    return Outcome(kind, lost, lost_s, way="reply")


def _killed_in_load(ground: Ground, kind: str) -> Outcome:
    window = ground.ready()
    before = window.state["pid"]
    window.tell("load", path=str(ground.engine()[0]))
    window.until(lambda: window.state["pid"] not in {before, None}, "another engine")
    time.sleep(ground.chance.uniform(0.0, 0.2))
    ground.drop()
    window = ground.start()
    look = window.look()
    check(window.status == "ready", f"no model after a kill in a load: {window.state}")
    said = look["notices"].get("unfinished-load", "")
    check(said == "" or "not loaded by itself" in said, f"said: {said}")
    ground.answers(window)
    ground.ledger.audit()
    return Outcome(kind, way="load")


def worker_stopped(ground: Ground, kind: str) -> Outcome:
    """Suspend the engine for a while."""
    window = ground.ready()
    question = ground.begin(window)
    return _suspended(ground, kind, window, window.state["pid"], question)


def window_stopped(ground: Ground, kind: str) -> Outcome:
    """Suspend the window for a while; the engine waits for somebody to listen."""
    window = ground.ready()
    question = ground.begin(window)
    return _suspended(ground, kind, window, window.pid, question)


def _suspended(
    ground: Ground, kind: str, window: WindowProcess, pid: int, question: str
) -> Outcome:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(ground.chance.uniform(0.1, 1.0))
    if pid != window.pid and ground.chance.random() < 0.3:
        # The user presses Stop on an engine that does not move, as after a computer's sleep.
        window.tell("stop")
        os.kill(pid, signal.SIGCONT)
        look = ground.ended(window)
        ground.loss(look, question, 0, "stopped", "complete")
        return Outcome(kind, way="stopped meanwhile")
    os.kill(pid, signal.SIGCONT)
    ground.finished(window, question)
    return Outcome(kind)


def clock_jumped(ground: Ground, kind: str) -> Outcome:
    """Let the wall clock jump by up to decades, also back; what follows stays in order."""
    window = ground.ready()
    question = ground.begin(window)
    ahead_s = ground.chance.choice([-1, 1]) * 10 ** ground.chance.uniform(0, 9)
    window.tell("clock", ahead_s=max(-_FAR_S, min(ahead_s, _FAR_S)))
    ground.finished(window, question)
    ground.answers(window)
    ground.drop()
    _window, look = ground.restarted(question)
    lost, lost_s = ground.loss(look, question, len(ground.expected), "complete")
    return Outcome(kind, lost, lost_s, way="forward" if ahead_s > 0 else "back")
