"""Every setting, declared once.

The settings file, the dialog, the command line's flags and their help text all come from
`TABLE`. Three scopes: ``app`` (the program), ``load`` (how a model is loaded, kept per model) and
``sampling`` (how a reply is drawn, kept per chat). The names of the last two are the fields of
the engine's ``LoadOptions`` and ``SamplingOptions``.
"""

from __future__ import annotations

import json
import logging
import math
import os
import reprlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from app.endpoints import checked_endpoint
from app.small_files import read_small
from gguf_tools.split import parse_split

__all__ = [
    "TABLE",
    "Setting",
    "SettingError",
    "Settings",
    "atomic_write",
    "by_scope",
    "declared",
]

log = logging.getLogger(__name__)

Scope: TypeAlias = Literal["app", "load", "sampling"]
Kind: TypeAlias = Literal["bool", "int", "float", "choice", "text", "lines", "folders"]
Effect: TypeAlias = Literal["now", "next reply", "next load", "restart"]


class SettingError(ValueError):
    """A value that a setting does not take; the text says what it takes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: what it is called, what it takes, what it does and when.

    ``none_label`` makes None a value of its own and names it ("chosen by Plimsoll").
    """

    key: str
    scope: Scope
    group: str
    label: str
    help: str
    kind: Kind
    default: Any
    effect: Effect
    choices: tuple[tuple[str, str], ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    unit: str = ""
    none_label: str | None = None
    advanced: bool = False
    accept: Callable[[str], str] | None = None  # one line or text in its own form, or ValueError

    @property
    def flag(self) -> str:
        """Return the command-line flag."""
        return "--" + self.key.replace("_", "-")

    def check(self, value: object) -> Any:
        """Return the value in the setting's own type.

        Raises:
            SettingError: the value is none that this setting takes.
        """
        if value is None:
            if self.none_label is not None:
                return None
            raise SettingError(f"{self.label} needs a value.")
        return _CHECKS[self.kind](self, value)


_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 80


def _brief(value: object) -> str:
    """Return a value as a sentence can hold it: a file may say a number of 4,000 digits."""
    return _BRIEF.repr(value)


def _check_bool(setting: Setting, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise SettingError(f"{setting.label} is either on or off, not {_brief(value)}.")


def _check_number(setting: Setting, value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingError(f"{setting.label} is a number, not {_brief(value)}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingError(f"{setting.label} is a number, not {_brief(value)}.")
    if setting.kind == "int" and value != int(value):
        raise SettingError(f"{setting.label} is a whole number, not {_brief(value)}.")
    low, high = setting.minimum, setting.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        raise SettingError(
            f"{setting.label} lies between {low:,.10g} and {high:,.10g}, not {_brief(value)}."
        )
    return int(value) if setting.kind == "int" else float(value)


def _check_choice(setting: Setting, value: object) -> str:
    names = [name for name, _ in setting.choices]
    if isinstance(value, str) and value in names:
        return value
    raise SettingError(f"{setting.label} is one of {', '.join(names)}, not {_brief(value)}.")


def _check_text(setting: Setting, value: object) -> str:
    if isinstance(value, str):
        return _accepted(setting, value)
    raise SettingError(f"{setting.label} is a text, not {_brief(value)}.")


def _check_lines(setting: Setting, value: object) -> tuple[str, ...]:
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        accepted = tuple(_accepted(setting, item) for item in value)
        return accepted if setting.accept is None else tuple(dict.fromkeys(accepted))
    raise SettingError(f"{setting.label} is a list of texts, not {_brief(value)}.")


def _accepted(setting: Setting, text: str) -> str:
    if setting.accept is None:
        return text
    try:
        return setting.accept(text)
    except ValueError as error:
        raise SettingError(str(error)) from error


_CHECKS = {
    "bool": _check_bool,
    "int": _check_number,
    "float": _check_number,
    "choice": _check_choice,
    "text": _check_text,
    "lines": _check_lines,
    "folders": _check_lines,
}


def _checked_split(text: str) -> str:
    parse_split(text)
    return text.strip()


_KV_TYPES = tuple(
    (name, name)
    for name in ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
)
_CHOSEN = "chosen by Plimsoll"

TABLE: tuple[Setting, ...] = (
    # --- app ---
    Setting(
        "theme",
        "app",
        "Appearance",
        "Theme",
        "Colours of the window.",
        "choice",
        "system",
        "now",
        choices=(("system", "As the system"), ("dark", "Dark"), ("light", "Light")),
    ),
    Setting(
        "text_size",
        "app",
        "Appearance",
        "Text size",
        "Size of all text, as a share of the system's.",
        "int",
        100,
        "now",
        minimum=75,
        maximum=200,
        step=5,
        unit="%",
    ),
    Setting(
        "transcript_width",
        "app",
        "Appearance",
        "Width of the transcript",
        "Longest line of a conversation.",
        "int",
        760,
        "now",
        minimum=480,
        maximum=2000,
        step=20,
        unit="px",
    ),
    Setting(
        "show_statistics",
        "app",
        "Appearance",
        "Figures below replies",
        "Show tokens, times and rates below each reply.",
        "bool",
        True,
        "now",
    ),
    Setting(
        "unfold_reasoning",
        "app",
        "Appearance",
        "Unfold reasoning",
        "Show the model's reasoning unfolded while it is written.",
        "bool",
        False,
        "now",
    ),
    Setting(
        "send_key",
        "app",
        "Chat",
        "Send with",
        "Key that sends the draft; the other one breaks the line.",
        "choice",
        "enter",
        "now",
        choices=(("enter", "Enter"), ("ctrl_enter", "Ctrl+Enter")),
    ),
    Setting(
        "system_prompt",
        "app",
        "Chat",
        "System prompt of new chats",
        "What a model is told before the conversation. Each chat can have its own.",
        "text",
        "",
        "now",
    ),
    Setting(
        "load_last_model",
        "app",
        "Chat",
        "Load the last model at start",
        "Load the model used last as soon as the window stands.",
        "bool",
        True,
        "restart",
    ),
    Setting(
        "overflow",
        "app",
        "Chat",
        "When a chat outgrows the window",
        "Leave out the oldest turns (the system prompt stays, a line marks the place), or "
        "ask before each message.",
        "choice",
        "trim",
        "now",
        choices=(("trim", "Leave out the oldest turns"), ("ask", "Ask first")),
    ),
    Setting(
        "model_folders",
        "app",
        "Models",
        "Folders with models",
        "Scanned for GGUF files besides Plimsoll's own folder; files stay where they are.",
        "folders",
        (),
        "now",
    ),
    Setting(
        "scan_other_programs",
        "app",
        "Models",
        "Find models of other programs",
        "Also look where LM Studio, Ollama, Hugging Face, GPT4All, Jan and llama.cpp keep models.",
        "bool",
        True,
        "now",
    ),
    Setting(
        "tune",
        "app",
        "Models",
        "Measure what is fastest",
        "At a model's first load, try for some seconds how many threads and which attention are "
        "fastest here, and remember it. A message sent meanwhile is answered at once; what you "
        "set yourself stays.",
        "bool",
        True,
        "next load",
    ),
    Setting(
        "download_folder",
        "app",
        "Models",
        "Folder for downloads",
        "Where models from Hugging Face are put; it needs the room that they take.",
        "text",
        None,
        "now",
        none_label="Plimsoll's own folder",
    ),
    Setting(
        "hub_endpoint",
        "app",
        "Models",
        "Address of the hub",
        "A mirror of Hugging Face, such as https://hub.example.org. HF_ENDPOINT is used if this "
        "is not set.",
        "text",
        None,
        "now",
        none_label="huggingface.co",
        advanced=True,
    ),
    Setting(
        "offline",
        "app",
        "Privacy",
        "Offline mode",
        "Search and download no models, and ask for no newer version. Without it, too, the network "
        "is used only when you ask.",
        "bool",
        False,
        "now",
    ),
    Setting(
        "rpc",
        "app",
        "Devices",
        "Computers on the network",
        "Computers that lend their memory and processors to a model, one HOST:PORT a line: each "
        "runs llama.cpp's rpc-server. What is sent there is not encrypted.",
        "lines",
        (),
        "next load",
        accept=checked_endpoint,
    ),
    Setting(
        "log_chat_text",
        "app",
        "Privacy",
        "Chat text in logs",
        "Write prompts and replies to the log file, to track down a fault.",
        "bool",
        False,
        "now",
        advanced=True,
    ),
    Setting(
        "versions_at_once",
        "app",
        "Chat",
        "Versions at once",
        "How many versions 'Several versions at once' writes. One reading of the weights serves "
        "them all, so they cost little more time than one.",
        "int",
        3,
        "next reply",
        minimum=2,
        maximum=4,
        step=1,
    ),
    # --- load ---
    Setting(
        "n_ctx",
        "load",
        "Memory",
        "Context",
        "Tokens that the model can look back on. The KV cache grows with it.",
        "int",
        None,
        "next load",
        minimum=256,
        maximum=16_777_216,
        step=1024,
        unit="tokens",
        none_label=_CHOSEN,
    ),
    Setting(
        "type_k",
        "load",
        "Memory",
        "K cache type",
        "Type of the keys in the KV cache; q8_0 takes about half of f16.",
        "choice",
        "f16",
        "next load",
        choices=_KV_TYPES,
    ),
    Setting(
        "type_v",
        "load",
        "Memory",
        "V cache type",
        "Type of the values in the KV cache; a quantised one needs flash attention.",
        "choice",
        "f16",
        "next load",
        choices=_KV_TYPES,
    ),
    Setting(
        "gpu_layers",
        "load",
        "Memory",
        "GPU layers",
        "Layers on the GPU, counted from the output; -1 means all.",
        "int",
        -1,
        "next load",
        minimum=-1,
        maximum=9999,
    ),
    Setting(
        "devices",
        "load",
        "Memory",
        "Devices",
        "Devices that layers are put on, by name or address, separated by commas, as 'plimsoll "
        "devices' lists them; a minus in front leaves one out, none is the processor alone.",
        "text",
        None,
        "next load",
        none_label="all",
        advanced=True,
    ),
    Setting(
        "tensor_split",
        "load",
        "Memory",
        "Split between devices",
        "Parts of the layers that the devices get, in their order, such as 3,1.",
        "text",
        None,
        "next load",
        none_label="by free memory",
        advanced=True,
        accept=_checked_split,
    ),
    Setting(
        "swa_full",
        "load",
        "Memory",
        "Full sliding-window cache",
        "Keep all tokens of "
        "sliding-window layers: editing earlier turns is quicker, the cache several times "
        "larger.",
        "bool",
        False,
        "next load",
        advanced=True,
    ),
    Setting(
        "draft",
        "load",
        "Speed",
        "Draft model",
        "Path of a small model of the same family. It guesses the next tokens and this model "
        "checks them in one batch: the reply is the same, and comes faster where guesses are "
        "often right.",
        "text",
        None,
        "next load",
        none_label="none",
        advanced=True,
    ),
    Setting(
        "draft_tokens",
        "load",
        "Speed",
        "Drafted tokens",
        "How many tokens a draft model guesses at most before they are checked.",
        "int",
        4,
        "next load",
        minimum=1,
        maximum=32,
        step=1,
        advanced=True,
    ),
    Setting(
        "sequences",
        "load",
        "Memory",
        "Replies at once",
        "How many replies to one prompt can be decoded in one batch. They share the context.",
        "int",
        1,
        "next load",
        minimum=1,
        maximum=8,
        step=1,
    ),
    Setting(
        "mmap",
        "load",
        "Memory",
        "Map the file",
        "Let the system page weights in from the file rather than copy them.",
        "bool",
        True,
        "next load",
        advanced=True,
    ),
    Setting(
        "mlock",
        "load",
        "Memory",
        "Lock in memory",
        "Keep the system from paging weights out.",
        "bool",
        False,
        "next load",
        advanced=True,
    ),
    Setting(
        "flash_attention",
        "load",
        "Speed",
        "Flash attention",
        "Attention without the score "
        "matrix: less memory, faster on GPUs; on CPUs it can be slower at depth.",
        "choice",
        "auto",
        "next load",
        choices=(("auto", "Automatic"), ("on", "On"), ("off", "Off")),
    ),
    Setting(
        "threads",
        "load",
        "Speed",
        "Threads for decode",
        "Threads that write a reply; more than the fast cores slow it down.",
        "int",
        None,
        "next load",
        minimum=1,
        maximum=512,
        none_label=_CHOSEN,
    ),
    Setting(
        "threads_batch",
        "load",
        "Speed",
        "Threads for prefill",
        "Threads that read the prompt.",
        "int",
        None,
        "next load",
        minimum=1,
        maximum=512,
        none_label=_CHOSEN,
        advanced=True,
    ),
    Setting(
        "n_batch",
        "load",
        "Speed",
        "Batch",
        "Prompt tokens handed to the engine at once.",
        "int",
        512,
        "next load",
        minimum=1,
        maximum=16384,
        step=128,
        unit="tokens",
        advanced=True,
    ),
    Setting(
        "n_ubatch",
        "load",
        "Speed",
        "Micro-batch",
        "Prompt tokens computed at once: more is faster on GPUs and takes a larger compute buffer.",
        "int",
        512,
        "next load",
        minimum=1,
        maximum=16384,
        step=128,
        unit="tokens",
        advanced=True,
    ),
    Setting(
        "compatibility",
        "load",
        "Speed",
        "Compatibility mode",
        "Leave out AMX and repacked "
        "kernels. Turned on by itself on computers where they stop the engine.",
        "bool",
        False,
        "next load",
        advanced=True,
    ),
    Setting(
        "template",
        "load",
        "Format",
        "Chat format",
        "How a conversation is written for the model.",
        "text",
        None,
        "next load",
        none_label="from the file",
        advanced=True,
    ),
    # --- sampling ---
    Setting(
        "temperature",
        "sampling",
        "Sampling",
        "Temperature",
        "0 always takes the likeliest token; higher is more varied.",
        "float",
        0.7,
        "next reply",
        minimum=0,
        maximum=5,
        step=0.05,
    ),
    Setting(
        "top_k",
        "sampling",
        "Sampling",
        "Top-k",
        "Draw among the k likeliest tokens; 0 is off.",
        "int",
        40,
        "next reply",
        minimum=0,
        maximum=100_000,
    ),
    Setting(
        "top_p",
        "sampling",
        "Sampling",
        "Top-p",
        "Draw among the likeliest tokens that together have this probability; 1 is off.",
        "float",
        0.95,
        "next reply",
        minimum=0,
        maximum=1,
        step=0.01,
    ),
    Setting(
        "min_p",
        "sampling",
        "Sampling",
        "Min-p",
        "Leave out tokens less likely than this share of the likeliest; 0 is off.",
        "float",
        0.05,
        "next reply",
        minimum=0,
        maximum=1,
        step=0.01,
    ),
    Setting(
        "typical_p",
        "sampling",
        "Sampling",
        "Typical-p",
        "Keep tokens of typical information; 1 is off.",
        "float",
        1.0,
        "next reply",
        minimum=0,
        maximum=1,
        step=0.01,
        advanced=True,
    ),
    Setting(
        "seed",
        "sampling",
        "Sampling",
        "Seed",
        "The same seed, model and settings give the same reply.",
        "int",
        None,
        "next reply",
        minimum=0,
        maximum=4_294_967_294,
        none_label="new for each reply",
    ),
    Setting(
        "max_tokens",
        "sampling",
        "Limits",
        "Longest reply",
        "Tokens after which a reply ends.",
        "int",
        None,
        "next reply",
        minimum=1,
        maximum=1_000_000,
        unit="tokens",
        none_label="until the window is full",
    ),
    Setting(
        "stop",
        "sampling",
        "Limits",
        "Stop strings",
        "Texts that end a reply, one a line.",
        "lines",
        (),
        "next reply",
    ),
    Setting(
        "repeat_penalty",
        "sampling",
        "Repetition",
        "Repetition penalty",
        "Above 1 makes recent tokens less likely.",
        "float",
        1.0,
        "next reply",
        minimum=0.1,
        maximum=5,
        step=0.05,
    ),
    Setting(
        "repeat_last_n",
        "sampling",
        "Repetition",
        "Penalty window",
        "How many recent tokens the penalties look at; -1 means all.",
        "int",
        64,
        "next reply",
        minimum=-1,
        maximum=1_000_000,
        unit="tokens",
        advanced=True,
    ),
    Setting(
        "frequency_penalty",
        "sampling",
        "Repetition",
        "Frequency penalty",
        "Lowers a token for each time it has appeared.",
        "float",
        0.0,
        "next reply",
        minimum=-2,
        maximum=2,
        step=0.05,
        advanced=True,
    ),
    Setting(
        "presence_penalty",
        "sampling",
        "Repetition",
        "Presence penalty",
        "Lowers a token that has appeared at all.",
        "float",
        0.0,
        "next reply",
        minimum=-2,
        maximum=2,
        step=0.05,
        advanced=True,
    ),
    Setting(
        "dry_multiplier",
        "sampling",
        "Repetition",
        "DRY strength",
        "Discourages sequences that repeat the conversation; 0 is off.",
        "float",
        0.0,
        "next reply",
        minimum=0,
        maximum=10,
        step=0.1,
        advanced=True,
    ),
    Setting(
        "dry_base",
        "sampling",
        "Repetition",
        "DRY base",
        "How fast the DRY penalty grows with the length of the repetition.",
        "float",
        1.75,
        "next reply",
        minimum=1,
        maximum=4,
        step=0.05,
        advanced=True,
    ),
    Setting(
        "dry_allowed_length",
        "sampling",
        "Repetition",
        "DRY allowed length",
        "Repetitions up to this length cost nothing.",
        "int",
        2,
        "next reply",
        minimum=0,
        maximum=1000,
        unit="tokens",
        advanced=True,
    ),
    Setting(
        "dry_penalty_last_n",
        "sampling",
        "Repetition",
        "DRY window",
        "How many recent tokens DRY looks at; -1 means all.",
        "int",
        -1,
        "next reply",
        minimum=-1,
        maximum=1_000_000,
        unit="tokens",
        advanced=True,
    ),
    Setting(
        "xtc_probability",
        "sampling",
        "Sampling",
        "XTC probability",
        "Chance to leave out the likeliest choices, for variety; 0 is off.",
        "float",
        0.0,
        "next reply",
        minimum=0,
        maximum=1,
        step=0.05,
        advanced=True,
    ),
    Setting(
        "xtc_threshold",
        "sampling",
        "Sampling",
        "XTC threshold",
        "Tokens above this probability count as likely choices for XTC.",
        "float",
        0.1,
        "next reply",
        minimum=0,
        maximum=1,
        step=0.01,
        advanced=True,
    ),
    Setting(
        "grammar",
        "sampling",
        "Structure",
        "Grammar (GBNF)",
        "The reply must match this grammar.",
        "text",
        None,
        "next reply",
        none_label="none",
        advanced=True,
    ),
    Setting(
        "json_schema",
        "sampling",
        "Structure",
        "JSON schema",
        "The reply must be JSON of this schema.",
        "text",
        None,
        "next reply",
        none_label="none",
        advanced=True,
    ),
)

_BY_NAME = {(setting.scope, setting.key): setting for setting in TABLE}


def by_scope(scope: Scope) -> tuple[Setting, ...]:
    """Return the settings of a scope, in the order of the table."""
    return tuple(setting for setting in TABLE if setting.scope == scope)


def declared(scope: Scope, key: str) -> Setting:
    """Return a setting.

    Raises:
        KeyError: there is none of that name.
    """
    return _BY_NAME[scope, key]


def atomic_write(path: Path, data: bytes) -> None:
    """Replace a file whole or not at all: temporary file, flush to disk, rename; mode 0600.

    Raises:
        OSError: the file could not be written; the old one is untouched.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class Settings:
    """The values in force: defaults of the table under what the user changed.

    Load options are kept per model (by its path), with a set of their own for new models. A
    damaged file is set aside and named in `problems`; a value of the wrong type falls back to its
    default and is named there too, and neither stops the program.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._app: dict[str, Any] = {}
        self._models: dict[str, dict[str, Any]] = {}
        self._presets: dict[str, dict[str, Any]] = {}
        self.problems: list[str] = []
        self._read()

    def get(self, key: str) -> Any:
        """Return an ``app`` setting."""
        return self._app.get(key, declared("app", key).default)

    def set(self, key: str, value: object) -> None:
        """Change an ``app`` setting and write the file.

        Raises:
            SettingError: the setting does not take the value.
            OSError: the file could not be written; the value holds for this run.
        """
        setting = declared("app", key)
        checked = setting.check(value)
        if checked == setting.default:
            self._app.pop(key, None)
        else:
            self._app[key] = checked
        self._write()

    def load_values(self, model: str | None = None) -> dict[str, Any]:
        """Return all load options for a model: its own over those of new models over defaults."""
        values = {setting.key: setting.default for setting in by_scope("load")}
        values.update(self._models.get("", {}))
        if model:
            values.update(self._models.get(model, {}))
        return values

    def set_load_values(self, model: str | None, values: Mapping[str, object]) -> None:
        """Keep load options for a model, or with None for models that have none of their own.

        Raises:
            SettingError, OSError: as `set`.
        """
        checked = {key: declared("load", key).check(value) for key, value in values.items()}
        self._models[model or ""] = checked
        self._write()

    @property
    def presets(self) -> dict[str, dict[str, Any]]:
        """Named sets of sampling values (and ``system_prompt``)."""
        return {name: dict(values) for name, values in self._presets.items()}

    def set_preset(self, name: str, values: Mapping[str, object] | None) -> None:
        """Keep a preset under a name, or with None remove it.

        Raises:
            SettingError, OSError: as `set`.
        """
        if values is None:
            self._presets.pop(name, None)
        else:
            self._presets[name] = _checked_preset(values)
        self._write()

    def _read(self) -> None:
        if self._path is None:
            return
        try:
            raw = read_small(self._path)
        except FileNotFoundError:
            return
        except OSError as error:
            self.problems.append(
                f"The settings file can't be read ({error.strerror}); defaults are used."
            )
            return
        try:
            data = json.loads(raw.decode("utf-8"))
            if not isinstance(data, dict):
                raise ValueError("not an object")
        except (ValueError, RecursionError):
            self._set_aside()
            return
        self._app = self._valid("app", data.get("app"))
        models = data.get("models")
        if isinstance(models, dict):
            self._models = {
                str(name): self._valid("load", values) for name, values in models.items()
            }
        presets = data.get("presets")
        if isinstance(presets, dict):
            for name, values in presets.items():
                kept = self._valid("sampling", values)
                if isinstance(values, dict) and isinstance(values.get("system_prompt"), str):
                    kept["system_prompt"] = values["system_prompt"]
                self._presets[str(name)] = kept

    def _valid(self, scope: Scope, values: object) -> dict[str, Any]:
        if not isinstance(values, dict):
            return {}
        kept: dict[str, Any] = {}
        for key, value in values.items():
            setting = _BY_NAME.get((scope, key))
            if setting is None:
                continue  # of another version: ignored, and gone at the next write
            try:
                kept[key] = setting.check(value)
            except SettingError as error:
                self.problems.append(f"{error} The default is used.")
        return kept

    def _set_aside(self) -> None:
        assert self._path is not None
        aside = self._path.with_suffix(".damaged.json")
        try:
            self._path.replace(aside)
            self.problems.append(f"The settings file was damaged; it is kept as {aside.name}.")
        except OSError:
            self.problems.append("The settings file is damaged; defaults are used.")

    def _write(self) -> None:
        if self._path is None:
            return
        data = {"version": 1, "app": self._app, "models": self._models, "presets": self._presets}
        try:
            raw = json.dumps(data, ensure_ascii=False, indent=1).encode("utf-8")
        except UnicodeEncodeError:  # the path of a model whose name is no valid text
            raw = json.dumps(data, indent=1).encode("ascii")
        atomic_write(self._path, raw)


def _checked_preset(values: Mapping[str, object]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for key, value in values.items():
        if key == "system_prompt":
            checked[key] = str(value)
        else:
            checked[key] = declared("sampling", key).check(value)
    return checked
