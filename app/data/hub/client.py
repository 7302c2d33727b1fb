"""The hub through ``huggingface_hub``: search, listing, and bytes of a file.

The library is imported here alone, with what it would do unasked turned off: telemetry, its
progress bars, the Xet protocol (which can't go on with a file after a restart), and its cache.
`hf_hub_download` is not used, because it throws a partial file away when it is interrupted; its
session, its way with tokens and its errors are.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from app.data.hub.errors import HubError
from app.data.hub.values import HubAccess, Listing, RemoteFile, Repository
from app.data.hub.variants import group
from app.version import version

if TYPE_CHECKING:
    import httpx2

__all__ = ["DEFAULT_ENDPOINT", "Hub", "Stream", "endpoint_of"]

_Item = TypeVar("_Item")
DEFAULT_ENDPOINT: Final = "https://huggingface.co"
MOST_RESULTS: Final = 60
# As huggingface_hub says (MAX_HTTP_DOWNLOAD_SIZE): larger files are there by Xet alone.
_MOST_BYTES: Final = 50 * 10**9
_CONNECT_S: Final = 10.0
_SILENCE_S: Final = 20.0
_BUSY: Final = frozenset({408, 429, 500, 502, 503, 504})
_EXPANDED: Final = ["downloads", "likes", "lastModified", "gated", "private", "tags", "gguf"]
_NAMED: Final = {"library_name": "plimsoll", "library_version": version()}
_SWITCHED_OFF: Final = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "HF_HUB_DISABLE_SYMLINKS_WARNING": "1",
    "HF_HUB_DISABLE_XET": "1",
}


def endpoint_of(setting: str | None) -> str:
    """Return the hub's address: the setting, else ``HF_ENDPOINT``, else Hugging Face's own."""
    chosen = (setting or "").strip() or os.environ.get("HF_ENDPOINT", "").strip()
    return (chosen or DEFAULT_ENDPOINT).rstrip("/")


class Stream:
    """Bytes of a file as they arrive."""

    def __init__(self, response: httpx2.Response, start: int, total: int | None) -> None:
        self._response = response
        self.start = start
        """Place of the first byte: 0 where the server can't begin in the middle."""
        self.total = total
        """Size of the whole file, None if the server doesn't say."""

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes in the pieces in which they arrive: none waits for a next one.

        Raises:
            HubError: the connection broke (kind ``network``).
        """
        import httpx2

        try:
            yield from self._response.iter_raw()
        except httpx2.TransportError as error:
            raise HubError("network", "The connection broke off.") from error


class Hub:
    """One hub, reached as `HubAccess` says.

    Every method raises `HubError` and nothing else where the hub or the network is at fault.
    """

    def __init__(self, access: HubAccess) -> None:
        if access.offline:
            raise HubError(
                "offline",
                "Offline mode is on: turn it off in the settings (Privacy) to get models.",
            )
        parts = urlsplit(access.endpoint)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise HubError(
                "network",
                f"The hub's address {access.endpoint} is none: it begins with https:// and names a "
                "computer.",
            )
        os.environ.update(_SWITCHED_OFF)
        os.environ["HF_ENDPOINT"] = access.endpoint
        from huggingface_hub import constants, set_client_factory

        if constants.is_offline_mode():
            raise HubError(
                "offline", "HF_HUB_OFFLINE is set in the environment: unset it to get models."
            )
        self._access = access
        self._host = parts.netloc
        set_client_factory(lambda: _client(self._host))

    # --- what there is

    def search(self, text: str, limit: int = MOST_RESULTS) -> tuple[Repository, ...]:
        """Return repositories with GGUF files whose name contains the text, the most used first."""
        from huggingface_hub import HfApi

        api = HfApi(endpoint=self._access.endpoint, token=self._access.token, **_NAMED)
        with self._explained():
            found = api.list_models(
                search=text, filter="gguf", sort="downloads", limit=limit, expand=_EXPANDED
            )
            return tuple(_sound(_repository(item)) for item in found)

    def listing(self, repository: str) -> Listing:
        """Return the models of a repository at its newest commit."""
        from huggingface_hub import HfApi

        api = HfApi(endpoint=self._access.endpoint, token=self._access.token, **_NAMED)
        with self._explained(repository):
            info = api.model_info(repository, files_metadata=True, timeout=_SILENCE_S)
            if not info.sha:
                raise HubError("unknown", f"{self._host} doesn't say which commit of {repository}.")
            files = [
                _sound(_file(item))
                for item in info.siblings or ()
                if item.size is not None or item.lfs
            ]
            said = info.gguf or {}
            return _sound(
                Listing(
                    repository=info.id,
                    revision=info.sha,
                    variants=group(files),
                    licence=_licence(info),
                    gated=bool(info.gated),
                    parameters=_whole(said.get("total")),
                    architecture=_text(said.get("architecture")),
                    context_length=_whole(said.get("context_length")),
                )
            )

    # --- bytes

    @contextlib.contextmanager
    def open(
        self, repository: str, revision: str, file: RemoteFile, start: int = 0, end: int = 0
    ) -> Iterator[Stream]:
        """Open a file from byte ``start`` on, up to byte ``end`` (exclusive; 0 is all).

        Raises:
            HubError: it can't be had, or is not the file that was listed (``changed``).
        """
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

        url = hf_hub_url(repository, file.path, revision=revision, endpoint=self._access.endpoint)
        headers = build_hf_headers(token=self._access.token, **_NAMED)
        headers["Accept-Encoding"] = "identity"  # what is counted and summed is what is written
        if start or end:
            headers["Range"] = f"bytes={start}-{end - 1 if end else ''}"
        with contextlib.ExitStack() as stack:
            with self._too_large(file), self._explained(repository, file.path):
                response = stack.enter_context(get_session().stream("GET", url, headers=headers))
                hf_raise_for_status(response)
                first, total = _span(response)
            self._same(file, response, total)
            yield Stream(response, first, total)

    def _same(self, file: RemoteFile, response: httpx2.Response, total: int | None) -> None:
        sums = {
            tag.strip().removeprefix("W/").strip('"')
            for answer in (*response.history, response)
            if (tag := answer.headers.get("x-linked-etag"))
        }
        if (total is not None and total != file.size_bytes) or (
            file.sha256 is not None and any(len(tag) == 64 and tag != file.sha256 for tag in sums)
        ):
            raise HubError(
                "changed",
                f"{file.path} was changed on {self._host} since it was listed: look at the "
                "repository again.",
            )

    # --- what went wrong

    @contextlib.contextmanager
    def _too_large(self, file: RemoteFile) -> Iterator[None]:
        """Say of a refused giant that its size may be why."""
        try:
            yield
        except HubError as error:
            if file.size_bytes <= _MOST_BYTES or error.kind in {"network", "busy", "gated"}:
                raise
            raise HubError(
                error.kind,
                f"{self._host} gives no file above 50 GB over plain HTTP, and Plimsoll speaks no "
                f"other protocol of it: choose a variant in parts, or a smaller one than "
                f"{file.path}.",
            ) from error

    @contextlib.contextmanager
    def _explained(self, repository: str = "", path: str = "") -> Iterator[None]:
        """Turn the library's errors into sentences."""
        import httpx2
        from huggingface_hub import errors

        try:
            yield
        except errors.HfHubHTTPError as error:
            raise self._refused(error, repository, path) from error
        except errors.OfflineModeIsEnabled as error:
            raise HubError("offline", "Offline mode is on.") from error
        except errors.HFValidationError as error:
            raise HubError(
                "missing", f"{repository} is no name of a repository: it is owner/name."
            ) from error
        except httpx2.TransportError as error:
            raise _unreachable(self._host, error) from error
        except httpx2.HTTPError as error:
            raise HubError(
                "network", f"{self._host} answers in a way that leads nowhere."
            ) from error
        except HubError:
            raise
        except (
            AttributeError, LookupError, RecursionError, TypeError, ValueError, msgspec.MsgspecError
        ) as error:  # fmt: skip
            # The library takes an answer's shape for granted.
            raise HubError(
                "unknown", f"{self._host} answers with something that no hub says."
            ) from error

    def _refused(self, error: Any, repository: str, path: str) -> HubError:
        from huggingface_hub import errors, get_token

        status = error.response.status_code
        given = bool(self._access.token or get_token())
        if isinstance(error, errors.GatedRepoError):
            address = f"{self._access.endpoint}/{repository}"
            advice = (
                f"accept its terms at {address} with the account of your access token."
                if given
                else f"accept its terms at {address}, then give an access token of that account."
            )
            return HubError("gated", f"{repository} is gated: {advice}")
        if status in _BUSY:
            return _busy(self._host, error.response)
        if status == 401 and given:
            return HubError(
                "token",
                f"{self._host} refuses the access token, or there is no {repository or 'such page'}"
                ": check the name, and the token or HF_TOKEN.",
            )
        if isinstance(error, errors.RemoteEntryNotFoundError):
            return HubError("missing", f"{repository} has no file {path} (any more).")
        if isinstance(error, errors.DisabledRepoError):
            return HubError("missing", f"{repository} was disabled by {self._host}.")
        if status in {401, 404}:
            return HubError(
                "missing",
                f"There is no repository {repository} on {self._host}, or it is private: check the "
                "name, or give an access token that may read it.",
            )
        if status == 403:
            return HubError("token", f"Your access token may not read {repository}.")
        return HubError("unknown", f"{self._host} answers with error {status}.")


def _client(host: str) -> httpx2.Client:
    """Return a session that waits for nobody for ever, and never retries behind our back."""
    import httpx2

    class Client(httpx2.Client):
        def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
            limits = request.extensions.get("timeout") or {}
            if limits.get("read") is None:
                request.extensions["timeout"] = httpx2.Timeout(
                    _SILENCE_S, connect=_CONNECT_S
                ).as_dict()
            try:
                response = super().send(request, **options)
            except httpx2.TransportError as error:
                raise _unreachable(host, error) from error
            if response.status_code in _BUSY:
                response.close()
                raise _busy(host, response)
            return response

    return Client(follow_redirects=True)


def _unreachable(host: str, error: Exception) -> HubError:
    text = str(error).lower()
    if "certificate" in text or "ssl" in text:
        return HubError(
            "network",
            f"The connection to {host} is not safe (its certificate isn't accepted): check the "
            "clock of this computer, and the network.",
        )
    return HubError("network", f"{host} can't be reached: check the network and try again.")


def _busy(host: str, response: httpx2.Response) -> HubError:
    wait = response.headers.get("retry-after", "")
    wait_s = float(wait) if wait.isdecimal() else None
    if response.status_code == 429:
        when = f" in {wait_s:.0f} seconds" if wait_s else " in a few minutes"
        return HubError("busy", f"{host} had too many requests: try again{when}.", wait_s)
    return HubError(
        "busy", f"{host} has trouble (error {response.status_code}): try again later.", wait_s
    )


def _span(response: httpx2.Response) -> tuple[int, int | None]:
    """Return where the bytes begin and how long the whole file is."""
    if response.status_code == 206:
        unit, _, rest = response.headers.get("content-range", "").partition(" ")
        span, _, total = rest.partition("/")
        if unit == "bytes" and span.partition("-")[0].isdecimal():
            return int(span.partition("-")[0]), int(total) if total.isdecimal() else None
        raise ValueError("a part of a file without its place")
    length = response.headers.get("content-length", "")
    return 0, int(length) if length.isdecimal() else None


def _sound(item: _Item) -> _Item:
    """Return what was made of an answer, if all of it is of the declared types.

    Raises:
        msgspec.MsgspecError, ValueError: it is not.
    """
    return msgspec.json.decode(msgspec.json.encode(item), type=type(item))


def _repository(info: Any) -> Repository:
    said = info.gguf or {}
    return Repository(
        id=info.id,
        downloads=info.downloads,
        likes=info.likes,
        updated=info.last_modified.date().isoformat() if info.last_modified else None,
        licence=_licence(info),
        gated=bool(info.gated),
        parameters=_whole(said.get("total")),
    )


def _file(sibling: Any) -> RemoteFile:
    lfs = sibling.lfs
    return RemoteFile(
        path=sibling.rfilename,
        size_bytes=lfs.size if lfs else sibling.size,
        sha256=lfs.sha256 if lfs else None,
        git_sha1=None if lfs else sibling.blob_id,
    )


def _licence(info: Any) -> str | None:
    for tag in info.tags or ():
        if isinstance(tag, str) and tag.startswith("license:"):
            return tag.removeprefix("license:")
    return None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
