"""``plimsoll bench FILE …``: measured prefill and decode beside the prediction."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from app.cli import tune
from app.cli.bench_run import bench
from app.cli.bench_text import bench_json, bench_text
from app.cli.engine import exit_code_of
from app.cli.exits import EXIT_NO_MODEL
from app.cli.folders import open_settings
from app.cli.numbers import MOST_TOKENS, whole
from app.cli.options import add_flags, add_remote_flags, load_options, remotes
from app.cli.terminal import json_line, note, say
from app.engine.client import EngineError
from app.machine import state_file
from gguf_tools.facts import ModelFacts, read_facts
from gguf_tools.header import HeaderError

__all__ = ["add_arguments", "run"]


def _numbers(least: int) -> Callable[[str], tuple[int, ...]]:
    def parse(text: str) -> tuple[int, ...]:
        try:
            values = tuple(dict.fromkeys(int(part) for part in text.split(",")))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers.") from None
        if any(value < least for value in values):
            raise argparse.ArgumentTypeError(f"{text!r} holds a number below {least}.")
        return values

    return parse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="models, measured in turn")
    parser.add_argument(
        "--prompt", type=whole(0, MOST_TOKENS), default=512, metavar="N", help="default: 512 tokens"
    )
    parser.add_argument(
        "--generate", type=whole(0, MOST_TOKENS), default=128, metavar="N", help="default: 128"
    )
    parser.add_argument(
        "--depth",
        type=_numbers(0),
        default=(0, 2048),
        metavar="N,N",
        help="tokens in the cache before a test (default: 0,2048)",
    )
    parser.add_argument("--repeat", type=whole(1, 1000), default=3, metavar="N", help="default: 3")
    parser.add_argument(
        "--sequences",
        "--parallel",
        dest="counts",
        type=_numbers(1),
        default=(1,),
        metavar="N,N",
        help="chats decoded side by side (default: 1)",
    )
    parser.add_argument(
        "--tune",
        action="store_true",
        help="find which threads, attention and micro-batch are fastest here instead, in some "
        "seconds, and remember it for the window and the chat",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_flags(parser, "load", without=("sequences",))
    add_remote_flags(parser)


def _measurable(file: str) -> ModelFacts | None:
    """Return what a file says, None with a sentence on stderr if it can't be measured."""
    try:
        facts = read_facts(file)
    except HeaderError as error:
        note(error)
        return None
    if facts.loadable:
        return facts
    for warning in facts.warnings:
        note(warning)
    note(f"{file} can't be measured.")
    return None


def _depths(arguments: argparse.Namespace, facts: ModelFacts) -> list[int]:
    """Return the depths asked for, those that the model was trained for unless --ctx says more.

    A longer context can be made, but it says nothing of the model, and filling it takes its time.
    """
    tokens = max(arguments.prompt, arguments.generate)
    most = max(facts.context_length or 0, arguments.n_ctx or 0) - tokens
    if not facts.context_length or most < 0:
        return list(arguments.depth)
    for depth in arguments.depth:
        if depth > most:
            note(
                f"--depth {depth:,} is taken as {most:,}: the model was trained for "
                f"{facts.context_length:,} tokens; --ctx allows more."
            )
    return list(dict.fromkeys(min(depth, most) for depth in arguments.depth))


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; return the exit code."""
    if arguments.tune:
        return tune.run(arguments)
    state, settings = state_file(), open_settings()
    results = []
    models = [_measurable(file) for file in arguments.files]
    if None in models:
        if len(models) > 1:
            note("Nothing was measured: leave out what can't be.")
        return EXIT_NO_MODEL
    for facts in filter(None, models):
        try:
            record, bandwidth = bench(
                facts,
                load_options(arguments, settings, str(facts.path)),
                state,
                prompt=arguments.prompt,
                generate=arguments.generate,
                depths=_depths(arguments, facts),
                sequences=arguments.counts,
                repeat=arguments.repeat,
                endpoints=remotes(arguments, settings),
            )
        except EngineError as error:
            note(error)
            return exit_code_of(error)
        results.append(bench_json(record, bandwidth))
        if not arguments.json:
            say(bench_text(record, bandwidth))
    if arguments.json:
        print(json_line(results[0] if len(results) == 1 else {"models": results}))
    return 0
