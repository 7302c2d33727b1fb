from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.data.hub.client import DEFAULT_ENDPOINT, Hub, endpoint_of
from app.data.hub.errors import HubError, HubFault
from app.data.hub.values import HubAccess, RemoteFile
from tests.helpers.hub_server import HubServer


def refused(kind: HubFault, call: object) -> str:
    with pytest.raises(HubError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.kind == kind
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_search_tells_what_people_choose_by(server: HubServer, hub: Hub) -> None:
    told = {"downloads": 12, "likes": 3, "tags": ["gguf", "license:mit"], "gguf": {"total": 135}}
    server.add("one/Small-GGUF", info=told)
    server.add("two/Small-Large-GGUF", info={"downloads": 99}, gated=True)
    server.add("three/Other", info={"downloads": 500})
    first, second = hub.search("small")
    assert (first.id, first.gated, first.licence) == ("two/Small-Large-GGUF", True, None)
    assert (second.downloads, second.likes, second.licence) == (12, 3, "mit")
    assert (second.updated, second.parameters) == ("2026-03-14", 135)
    assert server.requests[0].query["filter"] == ["gguf"]


def test_a_listing_has_sizes_and_checksums(server: HubServer, hub: Hub, blob: Path) -> None:
    server.add("one/Small-GGUF", [("Small-Q4_K_M.gguf", blob)])
    server.add("one/Plain", [("small.gguf", blob)], lfs=False)
    [variant] = hub.listing("one/Small-GGUF").variants
    assert variant.quantization == "Q4_K_M"
    assert variant.size_bytes == 3_000_017
    [file] = variant.files
    assert len(file.sha256 or "") == 64
    [plain] = hub.listing("one/Plain").variants[0].files
    assert plain.sha256 is None
    assert len(plain.git_sha1 or "") == 40


def test_nothing_is_told_about_this_computer(server: HubServer, hub: Hub) -> None:
    hub.search("any")
    [seen] = server.requests
    assert seen.path == "/api/models"
    assert seen.headers["user-agent"].split("; ")[0].startswith("plimsoll/")
    assert "torch" not in seen.headers["user-agent"]
    assert "agent/" not in seen.headers["user-agent"].replace("user-agent/", "")
    assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "1"


def test_a_token_goes_to_the_hub_and_not_to_its_store(server: HubServer, blob: Path) -> None:
    server.add("one/Gated", [("a.gguf", blob)], gated=True)
    hub = Hub(HubAccess(endpoint=server.endpoint, token="hf_good"))
    [variant] = hub.listing("one/Gated").variants
    revision = hub.listing("one/Gated").revision
    with hub.open("one/Gated", revision, variant.files[0]) as stream:
        assert b"".join(stream.chunks()) == blob.read_bytes()
    resolved, fetched = server.requests[-2:]
    assert resolved.headers["authorization"] == "Bearer hf_good"
    assert fetched.host == "localhost"
    assert "authorization" not in fetched.headers


def test_gated_without_a_token_says_where_to_accept(
    server: HubServer, hub: Hub, blob: Path
) -> None:
    server.add("one/Gated", [("a.gguf", blob)], gated=True)
    listing = hub.listing("one/Gated")
    assert listing.gated

    def fetch() -> None:
        with hub.open("one/Gated", listing.revision, listing.variants[0].files[0]):
            pass

    sentence = refused("gated", fetch)
    assert f"{server.endpoint}/one/Gated" in sentence
    assert "access token" in sentence


def test_a_wrong_token_is_named_and_not_shown(server: HubServer) -> None:
    server.add("one/Small")
    access = HubAccess(endpoint=server.endpoint, token="hf_bad")
    sentence = refused("token", lambda: Hub(access).listing("one/Small"))
    assert "hf_bad" not in sentence
    assert "hf_bad" not in repr(access)


def test_what_is_not_there(server: HubServer, hub: Hub, blob: Path) -> None:
    assert "one/None" in refused("missing", lambda: hub.listing("one/None"))
    server.add("one/Small", [("a.gguf", blob)])
    revision = hub.listing("one/Small").revision

    def fetch() -> None:
        with hub.open("one/Small", revision, RemoteFile(path="b.gguf", size_bytes=1)):
            pass

    assert "b.gguf" in refused("missing", fetch)
    refused("missing", lambda: hub.listing("no name at all"))


def test_a_busy_hub_is_not_asked_again_and_again(server: HubServer, hub: Hub) -> None:
    server.statuses = [(429, "30"), (503, "")]
    assert "30 seconds" in refused("busy", lambda: hub.search("a"))
    assert "503" in refused("busy", lambda: hub.search("a"))
    assert len(server.requests) == 2


def test_without_a_network_one_sentence_comes_at_once() -> None:
    with HubServer() as gone:
        endpoint = gone.endpoint
    hub = Hub(HubAccess(endpoint=endpoint))
    assert "can't be reached" in refused("network", lambda: hub.search("a"))


def test_offline_mode_asks_nobody(server: HubServer) -> None:
    refused("offline", lambda: Hub(HubAccess(endpoint=server.endpoint, offline=True)))
    assert server.requests == []


@pytest.mark.parametrize("address", ["huggingface.co", "ftp://a", "", "https://"])
def test_an_address_that_is_none(address: str) -> None:
    refused("network", lambda: Hub(HubAccess(endpoint=address)))


def test_a_file_that_was_changed_is_not_taken(server: HubServer, hub: Hub, blob: Path) -> None:
    server.add("one/Small", [("a.gguf", blob)])
    listing = hub.listing("one/Small")
    server.add("one/Small", [("a.gguf", blob)], sums={"a.gguf": "0" * 64})

    def fetch() -> None:
        with hub.open("one/Small", listing.revision, listing.variants[0].files[0]):
            pass

    assert "look at the repository again" in refused("changed", fetch)


def test_where_the_hub_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert endpoint_of(None) == DEFAULT_ENDPOINT
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example/")
    assert endpoint_of("") == "https://mirror.example"
    assert endpoint_of("https://own.example") == "https://own.example"


def test_a_refused_giant_is_explained(server: HubServer, hub: Hub, tmp_path: Path) -> None:
    giant = tmp_path / "giant.gguf"
    giant.touch()
    os.truncate(giant, 51 * 10**9)
    server.add("one/Giant", [("giant.gguf", giant)], sums={"giant.gguf": "0" * 64})
    listing = hub.listing("one/Giant")
    server.statuses = [(403, "")]

    def fetch() -> None:
        with hub.open("one/Giant", listing.revision, listing.variants[0].files[0]):
            pass

    assert "above 50 GB" in refused("token", fetch)
