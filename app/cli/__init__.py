"""The command line: every command in a module of its own, imported when it is used.

stdout carries the result, stderr everything else. Exit codes: 0 done, 1 the computer refuses (a
full disk, say), 2 bad usage, 3 the file is
no usable model, 4 the engine failed, 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from app.cli.exits import EXIT_INTERRUPTED, EXIT_REFUSED
from app.cli.folders import obstacle
from app.cli.terminal import note
from app.paths import default_paths
from app.version import version

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = ["COMMANDS", "Command", "is_command", "parser_for", "run"]


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, what it does, and where it lives."""

    name: str
    help: str
    module: str
    prefix: str = ""
    keeps: bool = True  # whether it uses the data folder

    @property
    def adder(self) -> str:
        """Name of the function that declares its arguments."""
        return f"add_{self.prefix}arguments"

    @property
    def runner(self) -> str:
        """Name of the function that runs it."""
        return f"run_{self.prefix}".rstrip("_")


COMMANDS = (
    Command("chat", "chat in the terminal, or answer one prompt", "app.cli.chat"),
    Command("models", "list the models found on this computer", "app.cli.models"),
    Command("search", "search Hugging Face for models", "app.cli.search"),
    Command("get", "list a repository's files, and download one", "app.cli.get"),
    Command("devices", "list the devices that the engine can use", "app.cli.devices"),
    Command("facts", "show what a model file says", "app.cli.facts", keeps=False),
    Command("plan", "show memory and speed before loading", "app.cli.plan", keeps=False),
    Command(
        "verify", "compare the plan with the engine's own numbers", "app.cli.verify", keeps=False
    ),
    Command("bench", "measure prefill and decode beside the prediction", "app.cli.bench"),
    Command("compare", "variants side by side: speed, memory, quality", "app.cli.compare"),
    Command("quantize", "make a variant of a model in another type", "app.cli.quantize"),
    Command("report", "what a chat's turns measured, on what", "app.cli.report"),
    Command("export", "write a chat as Markdown or JSON", "app.cli.transfer", "export_"),
    Command("import", "read chats from a file", "app.cli.transfer", "import_"),
    Command("self-test", "check that this copy of the program works", "app.self_test", keeps=False),
)
_BY_NAME = {command.name: command for command in COMMANDS}

_DESCRIPTION = """\
Plimsoll: chat with GGUF models and see what limits them.
Without a command the window opens; a .gguf file as the only argument opens that model in it.
"""


def is_command(arguments: Sequence[str]) -> bool:
    """Tell whether the arguments are for the command line rather than for the window."""
    return any(
        argument in _BY_NAME or argument in {"-h", "--help", "--version"}
        for argument in arguments[:1]
    )


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in the only line it prints: usage is there for who asks."""

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print the help; unlike the original, without keeping quiet about a full disk."""
        print(self.format_help(), end="", file=file)

    def error(self, message: str) -> NoReturn:
        """End with exit code 2."""
        note(f"{self.prog}: {message.rstrip('.')}; see '{self.prog} --help'.")
        raise SystemExit(2)


class _Version(argparse.Action):
    """Prints the version; looked up only then, which takes as long as all the rest of the help."""

    def __call__(self, parser: argparse.ArgumentParser, *_values: object) -> NoReturn:
        print(f"plimsoll {version()}")
        parser.exit()


def _overview() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="plimsoll",
        usage="plimsoll [FILE] | plimsoll COMMAND [ARGUMENTS] | plimsoll [-h] [--version]",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="commands:\n"
        + "\n".join(f"  {command.name:<10} {command.help}" for command in COMMANDS)
        + "\n\n'plimsoll COMMAND --help' tells more of each.",
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="show program's version number and exit"
    )
    return parser


def parser_for(command: Command) -> argparse.ArgumentParser:
    """Return the parser of a command."""
    parser = _Parser(
        prog=f"plimsoll {command.name}",
        description=f"{command.help[0].upper()}{command.help[1:]}.",
    )
    getattr(importlib.import_module(command.module), command.adder)(parser)
    return parser


# What writing to a full or a failing disk ends with.
_UNWRITABLE: Final = {errno.ENOSPC, errno.EIO, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    # What matters of the log is said as a sentence by who finds it.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        try:
            code = _run(arguments)
        finally:  # here rather than at the interpreter's end, where a failure can't be told
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout left (as `head` does); nothing more can be said there.
        _drop_stdout()
        return 0
    except OSError as error:
        if error.filename is not None or error.errno not in _UNWRITABLE:
            raise
        _drop_stdout()
        with contextlib.suppress(OSError):  # stderr may lead to the same disk
            note(f"The output can't be written: {error.strerror}.")
        return EXIT_REFUSED


def _run(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] not in _BY_NAME:
        _overview().parse_args(arguments)
        return 0
    command = _BY_NAME[arguments[0]]
    parsed = parser_for(command).parse_args(arguments[1:])
    refused = obstacle(default_paths().data) if command.keeps else None
    if refused is not None:
        note(refused)
        return EXIT_REFUSED
    code: int = getattr(importlib.import_module(command.module), command.runner)(parsed)
    return code


def _drop_stdout() -> None:
    """Let what is still to be written go nowhere, so that the interpreter ends in silence."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
