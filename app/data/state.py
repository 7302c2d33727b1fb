"""What the program remembers by itself, as opposed to what the user set: a small JSON file.

Losing it costs a window's place, never anybody's work. So a damaged file is set aside, a value of
the wrong type counts as absent, and a disk that doesn't take it is logged and no more. Before each
change the file is read again, so that a window and a command line don't undo each other's changes;
threads of one process change it one after another. Who needs what others measured asks `follow`.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from app.settings import atomic_write
from app.small_files import read_small

__all__ = ["BadLoad", "LoadOutcome", "StateFile"]

log = logging.getLogger(__name__)

LoadOutcome: TypeAlias = Literal["loaded", "failed", "out_of_memory"]
_MAX_BYTES = 1024 * 1024
_MAX_BAD_LOADS = 50
_changing = threading.Lock()
"""Of all state files: a thread keeps a probe of memory while the window notes a load."""


@dataclass(frozen=True, slots=True)
class BadLoad:
    """A load that must not be repeated by itself: it took more memory than there was.

    ``unfinished`` means that the whole program ended while it ran.
    """

    path: str
    options: Mapping[str, Any]
    unfinished: bool = False


class StateFile:
    """The state file. ``path`` None remembers for this run only."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._stamp = self._file_stamp()
        self._data: dict[str, Any] = self._read() or {}
        self._unwritten = False  # the file is behind what is remembered here

    def follow(self) -> None:
        """Take what another process wrote since the file was read; asks for its time, no more."""
        stamp = self._file_stamp()
        if stamp is None or stamp == self._stamp or self._unwritten:
            return
        with _changing:
            found = self._read()
            self._stamp = stamp
            self._data = self._data if found is None else found

    def blobs(self, *prefixes: str) -> dict[str, str]:
        """Return what is kept under names that begin so, as the file has it: to be compared."""
        kept = self._object("blobs")
        return {name: str(value) for name, value in kept.items() if name.startswith(prefixes)}

    # --- window -----------------------------------------------------------------------------

    def blob(self, name: str) -> bytes | None:
        """Return bytes that were kept under a name, such as a window's geometry."""
        kept = self._object("blobs").get(name)
        try:
            return base64.b64decode(kept, validate=True) if isinstance(kept, str) else None
        except (binascii.Error, ValueError):
            return None

    def set_blob(self, name: str, value: bytes) -> None:
        """Keep bytes under a name."""
        text = base64.b64encode(value).decode("ascii")
        self._change(lambda data: _object(data, "blobs").update({name: text}))

    @property
    def last_chat(self) -> str | None:
        """The chat that was on screen last, None if that was a new one."""
        kept = self._data.get("last_chat")
        return kept if isinstance(kept, str) and kept else None

    def set_last_chat(self, chat: str | None) -> None:
        """Remember which chat is on screen."""
        self._change(lambda data: data.update({"last_chat": chat}))

    # --- models -----------------------------------------------------------------------------

    @property
    def last_model(self) -> Path | None:
        """The model that the window loaded last, and opens next."""
        return self._kept_path("last_model")

    def set_last_model(self, path: Path | None) -> None:
        """Remember the model that the window loaded last."""

        def change(data: dict[str, Any]) -> None:
            data["last_model"] = str(path) if path else None
            data.pop("last_terminal_model", None)  # used before this one

        self._change(change)

    @property
    def last_used_model(self) -> Path | None:
        """The model that was used last, in the window or in a terminal."""
        return self._kept_path("last_terminal_model") or self.last_model

    def set_last_terminal_model(self, path: Path) -> None:
        """Remember the model that a terminal used last; the window opens its own all the same."""
        self._change(lambda data: data.update({"last_terminal_model": str(path)}))

    def _kept_path(self, name: str) -> Path | None:
        kept = self._data.get(name)
        return Path(kept) if isinstance(kept, str) and kept else None

    def compatibility(self, cpu: str, engine: str) -> bool:
        """Tell whether this engine build needs compatibility mode on this processor."""
        return self._object("compatibility").get(_machine(cpu, engine)) is True

    def set_compatibility(self, cpu: str, engine: str, needed: bool) -> None:
        """Remember whether an engine build needs compatibility mode on a processor."""
        key = _machine(cpu, engine)
        self._change(lambda data: _object(data, "compatibility").update({key: needed}))

    def repack_fails(self, cpu: str, engine: str) -> bool:
        """Tell whether this engine build died of repacked kernels in compatibility mode here."""
        return self._object("repack_fails").get(_machine(cpu, engine)) is True

    def set_repack_fails(self, cpu: str, engine: str) -> None:
        """Remember that an engine build died of repacked kernels on a processor."""
        key = _machine(cpu, engine)
        self._change(lambda data: _object(data, "repack_fails").update({key: True}))

    # --- loads that went wrong --------------------------------------------------------------

    def begin_load(self, path: Path, options: Mapping[str, Any]) -> None:
        """Note that a load begins; if the program dies in it, the next start knows."""
        load = {"path": str(path), "options": dict(options)}
        self._change(lambda data: data.update({"loading": load}))

    def end_load(self, path: Path, options: Mapping[str, Any], outcome: LoadOutcome) -> None:
        """Note how a load ended; one that ran out of memory won't be repeated at a start."""

        def change(data: dict[str, Any]) -> None:
            data.pop("loading", None)
            bad = _object(data, "bad_loads")
            bad.pop(str(path), None)
            if outcome == "out_of_memory":
                bad[str(path)] = {"options": dict(options), "unfinished": False}
                while len(bad) > _MAX_BAD_LOADS:
                    bad.pop(next(iter(bad)))

        self._change(change)

    def settle_unfinished_load(self) -> BadLoad | None:
        """Return the load in which the last run ended, and keep it among the bad ones.

        To be called once, by the process that has the store, before it loads anything.
        """
        load = self._data.get("loading")
        if not isinstance(load, dict) or not isinstance(load.get("path"), str):
            return None
        path, options = load["path"], _options(load)

        def change(data: dict[str, Any]) -> None:
            data.pop("loading", None)
            _object(data, "bad_loads")[path] = {"options": options, "unfinished": True}

        self._change(change)
        return BadLoad(path, options, unfinished=True)

    def bad_load(self, path: Path, options: Mapping[str, Any]) -> BadLoad | None:
        """Return what is known against loading a model with these options by itself.

        Other options than those that went wrong are worth a try.
        """
        kept = self._object("bad_loads").get(str(path))
        if not isinstance(kept, dict) or _options(kept) != _plain(options):
            return None
        return BadLoad(str(path), _options(kept), unfinished=kept.get("unfinished") is True)

    # --- the file ---------------------------------------------------------------------------

    def _object(self, key: str) -> dict[str, Any]:
        found = self._data.get(key)
        return found if isinstance(found, dict) else {}

    def _change(self, change: Callable[[dict[str, Any]], None]) -> None:
        with _changing:
            self._change_alone(change)

    def _change_alone(self, change: Callable[[dict[str, Any]], None]) -> None:
        stamp = self._file_stamp()
        now = None if self._unwritten else self._read()
        self._data = self._data if now is None else now
        self._stamp = stamp  # our own change is read once more: nobody else's can be missed so
        change(self._data)
        if self._path is None:
            return
        try:
            atomic_write(self._path, json.dumps(self._data, indent=1).encode("utf-8"))
        except OSError as error:
            log.warning("state not kept: %s", error)
            self._unwritten = True
        else:
            self._unwritten = False

    def _file_stamp(self) -> tuple[int, ...] | None:
        """Return what tells one state of the file from the next, None if there is no file."""
        if self._path is None:
            return None
        try:
            found = self._path.stat()
        except OSError:
            return None
        return (found.st_ino, found.st_mtime_ns, found.st_size)

    def _read(self) -> dict[str, Any] | None:
        """Return what the file holds, None if there is none that can be read."""
        if self._path is None:
            return None
        try:
            if self._path.stat().st_size > _MAX_BYTES:
                raise ValueError("too large")
            data = json.loads(read_small(self._path))
            if not isinstance(data, dict):
                raise ValueError("not an object")
        except OSError:
            return None
        except (ValueError, RecursionError) as error:
            log.warning("state file set aside: %s", error)
            try:
                self._path.replace(self._path.with_suffix(".damaged.json"))
            except OSError:
                pass
            return None
        return data


def _object(data: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key, made if there is none of the right type."""
    found = data.get(key)
    if not isinstance(found, dict):
        found = data[key] = {}
    return found


def _machine(cpu: str, engine: str) -> str:
    return f"{cpu} | {engine}"


def _options(kept: Mapping[str, Any]) -> dict[str, Any]:
    options = kept.get("options")
    return options if isinstance(options, dict) else {}


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as they come back from the file: tuples as lists."""
    plain: dict[str, Any] = json.loads(json.dumps(dict(options)))
    return plain
