"""What the hub tells, and what is asked of it: plain values that travel between processes."""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

import msgspec

__all__ = [
    "HubAccess",
    "Job",
    "Listing",
    "RemoteFile",
    "Repository",
    "Transfer",
    "TransferPhase",
    "Variant",
    "job_of",
]

TransferPhase: TypeAlias = Literal["checking", "downloading", "waiting"]


class HubAccess(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach the hub. ``token`` None leaves it to the environment and the login on disk."""

    endpoint: str
    token: str | None = None
    offline: bool = False

    def __repr__(self) -> str:
        """Leave the token out: a representation may end in a log."""
        given = self.token is not None
        return f"HubAccess(endpoint={self.endpoint!r}, token={given}, offline={self.offline})"


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a search. ``updated`` is a date (YYYY-MM-DD), ``downloads`` of 30 days."""

    id: str
    downloads: int | None = None
    likes: int | None = None
    updated: str | None = None
    licence: str | None = None
    gated: bool = False
    parameters: int | None = None


class RemoteFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a repository; one of the two checksums is there unless the hub gives none."""

    path: str
    size_bytes: int
    sha256: str | None = None
    git_sha1: str | None = None


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One model of a repository, with all parts of a split one in order.

    ``key`` is the path of the first file. ``missing`` counts parts that the repository lacks.
    ``projector`` marks the vision part of a model, which is no model by itself.
    """

    key: str
    name: str
    quantization: str | None
    files: tuple[RemoteFile, ...]
    projector: bool = False
    missing: int = 0

    @property
    def size_bytes(self) -> int:
        """Size of all files."""
        return sum(file.size_bytes for file in self.files)


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The model files of a repository at one commit. ``parameters`` and what follows it are what
    the hub itself read from one of the files.
    """

    repository: str
    revision: str
    variants: tuple[Variant, ...]
    licence: str | None = None
    gated: bool = False
    parameters: int | None = None
    architecture: str | None = None
    context_length: int | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Files to fetch as one model into ``folder``, pinned to a commit so that it can go on later.

    ``id`` is the same whenever the same files of the same commit are asked for again.
    """

    id: str
    repository: str
    revision: str
    title: str
    files: tuple[RemoteFile, ...]
    folder: str

    @property
    def size_bytes(self) -> int:
        """Size of all files."""
        return sum(file.size_bytes for file in self.files)


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """How far a job is. Rate and time left are of the last seconds, None while unknown.

    While waiting for the network ``note`` says why.
    """

    phase: TransferPhase
    done_bytes: int
    total_bytes: int
    bytes_per_s: float | None = None
    left_s: float | None = None
    note: str = ""


def job_of(listing: Listing, variant: Variant, folder: str) -> Job:
    """Return the job that fetches a variant."""
    identity = "\n".join(
        [listing.repository, *(f"{file.path}:{file.sha256 or file.git_sha1 or file.size_bytes}"
                               for file in variant.files)]
    )  # fmt: skip
    return Job(
        id=hashlib.sha256(identity.encode()).hexdigest()[:16],
        repository=listing.repository,
        revision=listing.revision,
        title=f"{variant.name} {variant.quantization or ''}".strip(),
        files=variant.files,
        folder=folder,
    )
