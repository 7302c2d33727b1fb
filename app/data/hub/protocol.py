"""What a window says to a hub process, and what it answers: JSON, one message a line.

The first line is `Access`. Every other request has an ``id``; each is answered by any number of
messages with that id, of which the last is one of `FINAL`.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from app.data.hub.errors import HubFault
from app.data.hub.values import HubAccess, Job, Listing, Repository, Transfer, Variant

__all__ = [
    "FINAL",
    "Access",
    "Answer",
    "Cancel",
    "Fetch",
    "Fetched",
    "Found",
    "HeadFailed",
    "HeadKept",
    "HeadsRead",
    "Listed",
    "LookUp",
    "Moved",
    "ReadHeads",
    "Refused",
    "Request",
    "Search",
    "decode_answer",
    "decode_request",
    "encode_line",
]


class Access(msgspec.Struct, frozen=True, kw_only=True, tag="access"):
    """How to reach the hub; ``cache`` is the folder for headers."""

    access: HubAccess
    cache: str = ""


class Search(msgspec.Struct, frozen=True, kw_only=True, tag="search"):
    """Look for repositories."""

    id: int
    text: str


class LookUp(msgspec.Struct, frozen=True, kw_only=True, tag="look_up"):
    """List the models of a repository."""

    id: int
    repository: str


class ReadHeads(msgspec.Struct, frozen=True, kw_only=True, tag="read_heads"):
    """Bring the headers of variants into the cache, in this order."""

    id: int
    listing: Listing
    variants: tuple[Variant, ...]


class Fetch(msgspec.Struct, frozen=True, kw_only=True, tag="fetch"):
    """Download a job."""

    id: int
    job: Job
    patience_s: tuple[float, ...] | None = None


class Cancel(msgspec.Struct, frozen=True, kw_only=True, tag="cancel"):
    """Let a request end early; a download is cancelled by ending its process."""

    target: int


class Found(msgspec.Struct, frozen=True, kw_only=True, tag="found"):
    """Answer to `Search`."""

    id: int
    repositories: tuple[Repository, ...]


class Listed(msgspec.Struct, frozen=True, kw_only=True, tag="listed"):
    """Answer to `LookUp`."""

    id: int
    listing: Listing


class HeadKept(msgspec.Struct, frozen=True, kw_only=True, tag="head_kept"):
    """The header of a variant is in the cache; ``fetched_bytes`` were fetched for all so far."""

    id: int
    key: str
    fetched_bytes: int


class HeadFailed(msgspec.Struct, frozen=True, kw_only=True, tag="head_failed"):
    """The header of a variant can't be had."""

    id: int
    key: str
    sentence: str


class HeadsRead(msgspec.Struct, frozen=True, kw_only=True, tag="heads_read"):
    """End of `ReadHeads`."""

    id: int


class Moved(msgspec.Struct, frozen=True, kw_only=True, tag="moved"):
    """How far a download is."""

    id: int
    transfer: Transfer


class Fetched(msgspec.Struct, frozen=True, kw_only=True, tag="fetched"):
    """A download is in place."""

    id: int
    paths: tuple[str, ...]


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag="refused"):
    """A request came to nothing; the sentence says why and what to do."""

    id: int
    kind: HubFault
    sentence: str


Request: TypeAlias = Access | Search | LookUp | ReadHeads | Fetch | Cancel
Answer: TypeAlias = Found | Listed | HeadKept | HeadFailed | HeadsRead | Moved | Fetched | Refused
FINAL: Final = (Found, Listed, HeadsRead, Fetched, Refused)

_encoder = msgspec.json.Encoder()
_requests = msgspec.json.Decoder(Request)
_answers = msgspec.json.Decoder(Answer)


def encode_line(message: Request | Answer) -> bytes:
    """Return a message as one line."""
    return _encoder.encode(message) + b"\n"


def decode_request(line: bytes) -> Request:
    """Return the request on a line.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return _requests.decode(line)


def decode_answer(line: bytes) -> Answer:
    """Return the answer on a line.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return _answers.decode(line)
