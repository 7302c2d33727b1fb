"""Bad input of every kind, made from a seed: none may end in anything but a sentence.

    python -m tests.bench.hostile [--rounds 50] [--seed N] [--only KIND,KIND]

``models`` are spoiled GGUF files through the engine's worker, ``requests`` hostile lines to a
worker (scripted and real), ``answers`` and ``answers to the window`` lines of a mad worker to both
clients, ``hub answers`` and ``hub requests`` a mad hub and hostile lines to the process that asks
it; ``templates`` go through the renderer and its child, ``markdown`` through a real transcript,
whole and in pieces; the others are files in place of our own and of those that people hand in.
Exit code 1 if anything went wrong.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from app.engine.launch import FAKE_ENGINE_VARIABLE
from tests.helpers.hostile_files import FILES, attack_files
from tests.helpers.hostile_gguf import attack_models
from tests.helpers.hostile_hub import attack_hub_answers, attack_hub_requests
from tests.helpers.hostile_lines import attack_blocking_client, attack_qt_client, attack_worker
from tests.helpers.hostile_markdown import attack_markdown
from tests.helpers.hostile_templates import attack_templates
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

__all__ = ["ATTACKS", "main"]

Attack: TypeAlias = Callable[[int, random.Random, Path], list[str]]
_PATIENCE_S = 30.0
_APPLICATION: list[object] = []  # a window system's own, alive until the end


def _models(rounds: int, chance: random.Random, folder: Path) -> list[str]:
    ends = Counter[str]()
    problems = attack_models(rounds, chance, folder, ends)
    print("   ends of models:", ", ".join(f"{name} {n}" for name, n in ends.most_common()))
    return problems


def _templates(rounds: int, chance: random.Random, _folder: Path) -> list[str]:
    ends = Counter[str]()
    problems = attack_templates(rounds, chance, ends)
    print("   ends of templates:", ", ".join(f"{name} {n}" for name, n in ends.most_common()))
    return problems


def _requests(rounds: int, chance: random.Random, folder: Path) -> list[str]:
    script = folder / "script.json"
    script.write_text("{}")
    os.environ[FAKE_ENGINE_VARIABLE] = str(script)
    try:
        problems = attack_worker(rounds, chance)
    finally:
        del os.environ[FAKE_ENGINE_VARIABLE]
    model = write_tiny_model(folder / "tiny.gguf", TinyModel(layers=1))
    return problems + [f"llama.cpp: {text}" for text in attack_worker(rounds, chance, model)]


def _until(done: Callable[[], bool]) -> bool:
    """Let the window run until something is so; False if it never is."""
    from PySide6.QtTest import QTest

    end_s = time.monotonic() + _PATIENCE_S
    while not done() and time.monotonic() < end_s:
        QTest.qWait(5)
    return done()


def _window(rounds: int, chance: random.Random, folder: Path) -> list[str]:
    from PySide6.QtWidgets import QApplication

    _APPLICATION.append(QApplication.instance() or QApplication(["plimsoll"]))
    problems = attack_qt_client(rounds, chance, folder, _until)
    QApplication.processEvents()
    return problems


def _markdown(rounds: int, chance: random.Random, _folder: Path) -> list[str]:
    from PySide6.QtWidgets import QApplication

    _APPLICATION.append(QApplication.instance() or QApplication(["plimsoll"]))
    return attack_markdown(rounds, chance, _until)


def _files(kind: str) -> Attack:
    return lambda rounds, chance, _folder: attack_files(kind, rounds, chance)


ATTACKS: Final[dict[str, Attack]] = {
    "models": _models,
    "requests": _requests,
    "answers": attack_blocking_client,
    "answers to the window": _window,
    "hub answers": lambda rounds, chance, _folder: attack_hub_answers(rounds, chance),
    "hub requests": lambda rounds, chance, _folder: attack_hub_requests(rounds, chance),
    "templates": _templates,
    "markdown": _markdown,
    **{kind: _files(kind) for kind in FILES},
}


def main() -> int:
    """Run the attacks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(ATTACKS), help="kinds of input")
    arguments = parser.parse_args()
    kinds = arguments.only.split(",")
    unknown = set(kinds) - set(ATTACKS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(ATTACKS)}")
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    logging.disable(logging.CRITICAL)  # each damaged file is logged, as it should be
    wrong = 0
    print(f"{'input':26}{'rounds':>7}{'seconds':>9}   wrong", flush=True)
    for kind in kinds:
        begin_s = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="plimsoll-hostile-") as folder:
            chance = random.Random(f"{arguments.seed} {kind}")
            problems = ATTACKS[kind](arguments.rounds, chance, Path(folder))
        seconds = time.monotonic() - begin_s
        print(f"{kind:26}{arguments.rounds:7}{seconds:9.1f}   {len(problems)}", flush=True)
        for text in problems:
            print(f"   {text}", flush=True)
        wrong += len(problems)
    print("all ended in a sentence" if not wrong else f"{wrong} went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
