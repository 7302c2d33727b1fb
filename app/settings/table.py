"""All settings in one table."""

from __future__ import annotations

from app.settings.app_table import APP_TABLE
from app.settings.declaration import Scope, Setting
from app.settings.load_table import LOAD_TABLE
from app.settings.sampling_table import SAMPLING_TABLE

__all__ = ["TABLE", "by_scope", "declared", "find"]

TABLE: tuple[Setting, ...] = (*APP_TABLE, *LOAD_TABLE, *SAMPLING_TABLE)

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


def find(scope: Scope, key: str) -> Setting | None:
    """Return a setting, None if there is none of that name."""
    return _BY_NAME.get((scope, key))
