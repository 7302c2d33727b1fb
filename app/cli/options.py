"""Command-line flags made from the declared settings, and options made from the flags."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import Any, Protocol

from app.engine.protocol import LoadOptions, SamplingOptions
from app.settings import Scope, Setting, SettingError, Settings, by_scope, declared

__all__ = [
    "add_cache_flag",
    "add_flag",
    "add_flags",
    "add_remote_flags",
    "load_options",
    "remote_address",
    "remotes",
    "sampling_options",
]

_UNSET: Any = None


def _parser_of(setting: Setting) -> Any:
    def parse(text: str) -> object:
        value: object = text
        try:
            if setting.kind == "int":
                value = int(text)
            elif setting.kind == "float":
                value = float(text)
            return setting.check(value)
        except SettingError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        except ValueError as error:
            raise argparse.ArgumentTypeError(
                f"{setting.label} is a number, not {text!r}."
            ) from error

    return parse


class _Group(Protocol):
    def add_argument(self, *names: str, **options: Any) -> Any: ...


def add_flags(
    parser: argparse.ArgumentParser, scope: Scope, *, without: Collection[str] = ()
) -> None:
    """Declare a flag for every setting of a scope, ``without`` those the command has itself."""
    group = parser.add_argument_group(
        {"load": "how the model is loaded", "sampling": "how the reply is drawn"}.get(scope, scope)
    )
    for setting in by_scope(scope):
        if setting.key not in without:
            add_flag(group, setting)
    if scope == "load":
        add_cache_flag(group)


class _CacheType(argparse.Action):
    """Sets the types of K and of V to the same."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        _option: str | None = None,
    ) -> None:
        namespace.type_k = namespace.type_v = values


def add_cache_flag(group: _Group) -> None:
    """Declare the flag that sets both types of the KV cache."""
    group.add_argument(
        "--kv-type",
        action=_CacheType,
        type=_parser_of(declared("load", "type_k")),
        default=argparse.SUPPRESS,
        metavar="TEXT",
        help="type of the whole KV cache: --type-k and --type-v at once",
    )


def add_flag(group: _Group, setting: Setting) -> None:
    """Declare the flag of a setting."""
    text = f"{setting.help} ({_default_text(setting)})".replace("%", "%%")
    names = [*setting.short, setting.flag]
    if setting.kind == "bool":
        group.add_argument(
            *names,
            action=argparse.BooleanOptionalAction,
            default=_UNSET,
            help=text,
            dest=setting.key,
        )
    elif setting.kind == "lines":
        group.add_argument(
            *names,
            action="append",
            default=_UNSET,
            help=text,
            dest=setting.key,
            metavar="TEXT",
        )
    else:
        group.add_argument(
            *names,
            type=_parser_of(setting),
            default=_UNSET,
            help=text,
            dest=setting.key,
            metavar="|".join(name for name, _ in setting.choices)
            if setting.choices and len(setting.choices) <= 3
            else "X"
            if setting.kind == "float"
            else "N"
            if setting.kind == "int"
            else "TEXT",
        )


def add_remote_flags(parser: argparse.ArgumentParser) -> None:
    """Declare which computers on the network are used: those remembered, others, or none."""
    setting = declared("app", "rpc")
    group = parser.add_argument_group("other computers").add_mutually_exclusive_group()
    group.add_argument(
        setting.flag,
        action="append",
        type=remote_address,
        metavar="HOST:PORT",
        help="use this llama.cpp rpc-server, once for each (default: those that 'plimsoll devices "
        "--add-rpc' remembers)",
    )
    group.add_argument("--no-rpc", action="store_true", help="use no other computer")


def remote_address(text: str) -> str:
    """Return an address in its kept form; the ``type`` of an argument."""
    try:
        (address,) = declared("app", "rpc").check((text,))
    except SettingError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return str(address)


def remotes(arguments: argparse.Namespace, settings: Settings) -> tuple[str, ...]:
    """Return the addresses of RPC servers to use: flags over what is remembered."""
    if arguments.no_rpc:
        return ()
    return tuple(settings.get("rpc") if arguments.rpc is None else arguments.rpc)


def _default_text(setting: Setting) -> str:
    if setting.default is None:
        return f"default: {setting.none_label}"
    if setting.kind == "bool":
        return f"default: {'on' if setting.default else 'off'}"
    return f"default: {setting.default}" if setting.default != () else "default: none"


def _chosen(arguments: argparse.Namespace, scope: Scope) -> dict[str, Any]:
    values = {}
    for setting in by_scope(scope):
        value = getattr(arguments, setting.key, _UNSET)
        if value is not _UNSET:
            values[setting.key] = tuple(value) if setting.kind == "lines" else value
    return values


def load_options(arguments: argparse.Namespace, settings: Settings, model: str) -> LoadOptions:
    """Return load options: flags over the model's own settings over defaults."""
    return LoadOptions(**(settings.load_values(model) | _chosen(arguments, "load")))


def sampling_options(arguments: argparse.Namespace) -> SamplingOptions:
    """Return sampling options: flags over defaults."""
    return SamplingOptions(**_chosen(arguments, "sampling"))
