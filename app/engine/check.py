"""Whether a file can be loaded for a chat, before llama.cpp sees it, and in a better sentence."""

from __future__ import annotations

import os

from app.engine.launch import FAKE_ENGINE_VARIABLE
from gguf_tools.facts import read_facts
from gguf_tools.header import HeaderError

__all__ = ["file_problem"]


def file_problem(path: str) -> str | None:
    """Return why a file can't be loaded for a chat, None if nothing speaks against it.

    The scripted engine takes any file.
    """
    if os.environ.get(FAKE_ENGINE_VARIABLE):
        return None
    try:
        facts = read_facts(path)
    except FileNotFoundError:
        return f"There is no file {path}."
    except HeaderError as error:
        return str(error)
    except OSError as error:
        return f"{path} can't be read: {error.strerror}."
    if facts.kind not in {"model", "unknown"}:
        return f"This file is a {facts.kind}, not a chat model; choose the model it belongs to."
    if not facts.loadable:
        return facts.warnings[0] if facts.warnings else "This file can't be loaded."
    return None
