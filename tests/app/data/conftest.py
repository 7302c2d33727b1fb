from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.data.conversations import ConversationStore
from app.paths import Paths


@pytest.fixture
def store_path(paths: Paths) -> Path:
    """Where the store of this test lies."""
    return paths.store


@pytest.fixture
def store(store_path: Path) -> Iterator[ConversationStore]:
    """An empty store on the disk."""
    opened = ConversationStore(store_path)
    yield opened
    opened.close()
