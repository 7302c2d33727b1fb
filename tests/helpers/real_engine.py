"""Tiny scripted models in a real worker."""

from __future__ import annotations

from pathlib import Path

from app.engine.client import EngineClient
from app.engine.protocol import (
    ChatPrompt,
    LoadOptions,
    Render,
    Rendered,
)
from tests.helpers.engine import BlockingDriver
from tests.helpers.tiny_gguf import TinyModel, write_tiny_model

__all__ = ["STORY", "WORDS", "load_tiny", "rendered"]

WORDS = tuple(f" word{i}" for i in range(30))
STORY = "".join(WORDS)


def load_tiny(
    driver: BlockingDriver, folder: Path, model: TinyModel, options: LoadOptions | None = None
) -> None:
    """Write a tiny model into a folder and load it."""
    driver.client.load(str(write_tiny_model(folder / "m.gguf", model)), options)


def rendered(client: EngineClient, prompt: ChatPrompt) -> Rendered:
    """Return what the model would get of a conversation."""
    return client.call(Render(id=client.new_id(), chat=prompt), Rendered)
