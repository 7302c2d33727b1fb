"""What goes wrong with a hub, as one sentence that says what to do."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["HubError", "HubFault"]

HubFault: TypeAlias = Literal[
    "offline",  # offline mode is on
    "network",  # nobody answers, or the connection broke
    "token",  # the access token is refused
    "gated",  # the repository's terms were not accepted, or not by this account
    "missing",  # no such repository or file
    "busy",  # too many requests, or the server has trouble
    "disk",  # no room, or the folder can't be written
    "exists",  # another file of that name is there
    "changed",  # the file is not the one that was listed
    "checksum",  # what arrived is not what the hub promises
    "header",  # the file's header can't be read
    "locked",  # another Plimsoll downloads the same files
    "stopped",  # the process ended
    "unknown",
]


class HubError(Exception):
    """A request that came to nothing; ``str()`` is the sentence for a person."""

    def __init__(self, kind: HubFault, sentence: str, retry_after_s: float | None = None) -> None:
        super().__init__(sentence)
        self.kind: HubFault = kind
        self.retry_after_s = retry_after_s
