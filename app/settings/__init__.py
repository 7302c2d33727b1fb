"""Every setting, declared once.

The settings file, the dialog, the command line's flags and their help text all come from
`TABLE`. Three scopes: ``app`` (the program), ``load`` (how a model is loaded, kept per model) and
``sampling`` (how a reply is drawn, kept per chat). The names of the last two are the fields of
the engine's ``LoadOptions`` and ``SamplingOptions``.
"""

from __future__ import annotations

from app.settings.declaration import Effect, Kind, Scope, Setting, SettingError
from app.settings.files import atomic_write
from app.settings.store import Settings
from app.settings.table import TABLE, by_scope, declared

__all__ = [
    "TABLE",
    "Effect",
    "Kind",
    "Scope",
    "Setting",
    "SettingError",
    "Settings",
    "atomic_write",
    "by_scope",
    "declared",
]
