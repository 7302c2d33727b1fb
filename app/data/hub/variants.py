"""From the files of a repository to its models: parts joined, projectors told apart, sorted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from app.data.hub.errors import HubError
from app.data.hub.values import Listing, RemoteFile, Variant
from gguf_tools.naming import parse_file_name
from gguf_tools.shard_names import parse_shard_name

__all__ = ["Reference", "choose", "group", "parse_reference"]

_PROJECTOR: Final = re.compile(r"(^|[-_.])mmproj([-_.]|$)", re.IGNORECASE)
_REPOSITORY: Final = re.compile(r"[\w.-]+/[\w.-]+")
_HOSTS: Final = ("huggingface.co", "www.huggingface.co", "hf.co")


@dataclass(frozen=True, slots=True)
class Reference:
    """A repository, and what of it is meant: a file's path, or a quantisation."""

    repository: str
    file: str = ""
    quantization: str = ""


def parse_reference(text: str) -> Reference | None:
    """Return what a text names, None if it names no repository.

    Understood are ``owner/name``, ``owner/name:Q4_K_M``, and addresses of a repository or of a
    file in it.
    """
    text = text.strip()
    file = ""
    if text.startswith("hf://"):
        text = text.removeprefix("hf://")
    elif "://" in text or text.startswith(_HOSTS):
        address = urlsplit(text if "://" in text else f"https://{text}")
        parts = [part for part in address.path.split("/") if part]
        if len(parts) > 4 and parts[2] in {"blob", "resolve", "raw"}:
            file = "/".join(parts[4:])
        text = "/".join(parts[:2])
    name, _, quantization = text.partition(":")
    if not _REPOSITORY.fullmatch(name):
        return None
    return Reference(name, file, quantization.strip())


def group(files: Iterable[RemoteFile]) -> tuple[Variant, ...]:
    """Return the models among the files, the smallest first and projectors at the end."""
    whole: list[Variant] = []
    splits: dict[tuple[str, int], dict[int, RemoteFile]] = {}
    for file in files:
        path = PurePosixPath(file.path)
        if path.suffix.lower() != ".gguf":
            continue
        shard = parse_shard_name(path.name)
        if shard is None or shard[2] == 1:
            whole.append(_variant((file,), 0))
        else:
            prefix, number, count = shard
            splits.setdefault((str(path.with_name(prefix)), count), {})[number] = file
    for (_, count), parts in splits.items():
        ordered = tuple(parts[number] for number in sorted(parts))
        whole.append(_variant(ordered, count - len(ordered)))
    return tuple(sorted(whole, key=lambda item: (item.projector, item.size_bytes, item.key)))


def _variant(files: tuple[RemoteFile, ...], missing: int) -> Variant:
    path = PurePosixPath(files[0].path)
    parsed = parse_file_name(path.name)
    quantization = parsed.quantization
    if quantization is None and len(path.parts) > 1:  # some keep the files of Q8_0/ together
        quantization = parse_file_name(path.parts[-2]).quantization
    return Variant(
        key=files[0].path,
        name=parsed.base,
        quantization=quantization,
        files=files,
        projector=_PROJECTOR.search(parsed.base) is not None,
        missing=missing,
    )


def choose(listing: Listing, wanted: Reference) -> Variant:
    """Return the variant that is meant by a file's path or name, or by a quantisation.

    Raises:
        HubError: there is none, or more than one; the sentence lists what there is.
    """
    models = [item for item in listing.variants if not item.missing]
    if wanted.file:
        found = [
            item
            for item in models
            if any(wanted.file in {file.path, PurePosixPath(file.path).name} for file in item.files)
        ]
        what = wanted.file
    elif wanted.quantization:
        label = wanted.quantization.casefold()
        found = [
            item
            for item in models
            if not item.projector and (item.quantization or "").casefold() == label
        ]
        what = wanted.quantization
    else:
        found = [item for item in models if not item.projector]
        what = "GGUF model"
    if len(found) == 1:
        return found[0]
    if not found:
        raise HubError("missing", f"{listing.repository} has no {what}.{_there_is(models)}")
    raise HubError("missing", f"{listing.repository} has several: name the file.{_there_is(found)}")


def _there_is(variants: list[Variant]) -> str:
    if not variants:
        return ""
    names = [PurePosixPath(item.key).name for item in variants]
    listed = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f" There is: {listed}."
