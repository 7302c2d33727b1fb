"""The settings file: what differs from the defaults, kept as it changes."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from app.settings.declaration import Scope, SettingError
from app.settings.files import atomic_write, damaged_name
from app.settings.table import by_scope, declared, find
from app.small_files import read_small

__all__ = ["Settings"]

log = logging.getLogger(__name__)


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
            setting = find(scope, key)
            if setting is None:
                continue  # of another version: ignored, and gone at the next write
            try:
                kept[key] = setting.check(value)
            except SettingError as error:
                self.problems.append(f"{error} The default is used.")
        return kept

    def _set_aside(self) -> None:
        assert self._path is not None
        try:
            aside = damaged_name(self._path, datetime.now().astimezone())
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
