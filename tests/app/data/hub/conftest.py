from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.data.hub.client import Hub
from app.data.hub.values import HubAccess
from tests.helpers.hub_server import HubServer


@pytest.fixture(autouse=True)
def no_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's own access to the real hub is used, or touched."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf-home"))
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")


@pytest.fixture
def server() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server


@pytest.fixture
def hub(server: HubServer) -> Hub:
    return Hub(HubAccess(endpoint=server.endpoint))


@pytest.fixture
def blob(tmp_path: Path) -> Path:
    """A file of 3 MB and a bit that no server can make up."""
    path = tmp_path / "blob.gguf"
    path.write_bytes(random.Random(7).randbytes(3_000_017))
    return path
