"""``plimsoll get REPOSITORY [FILE]``: what files there are and whether they fit; fetches one."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import PurePosixPath

from app.cli.exits import EXIT_INTERRUPTED, EXIT_REFUSED, EXIT_USAGE
from app.cli.folders import make_folders, open_settings
from app.cli.hub import folder_for, open_hub, print_table, read_fits
from app.cli.terminal import json_line, note, say, shown
from app.data.hub.errors import HubError
from app.data.hub.fetch import download
from app.data.hub.values import Listing, Transfer, Variant, job_of
from app.data.hub.variants import Reference, choose, parse_reference
from app.data.library.fit import VariantFit
from app.paths import Paths, default_paths
from app.settings import Settings
from gguf_tools.facts import ModelFacts
from gguf_tools.units import counted, format_bytes, format_seconds

__all__ = ["add_arguments", "run"]

_HEADINGS = ("FILE", "VARIANT", "SIZE", "BITS/WEIGHT", "FIT", "TOK/S")
_EVERY_S = 10.0
_Fits = dict[str, tuple[ModelFacts | None, VariantFit]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "repository", help="owner/name, owner/name:Q4_K_M, or an address on Hugging Face"
    )
    parser.add_argument(
        "file", nargs="?", default="", help="a file of it, or a quantisation such as Q4_K_M"
    )
    parser.add_argument(
        "--list", action="store_true", help="only list the files, and whether they fit"
    )
    parser.add_argument("--to", metavar="FOLDER", help="folder for the download")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """List or fetch; return the exit code."""
    wanted = parse_reference(arguments.repository)
    if wanted is None:
        note(f"{arguments.repository!r} names no repository: give owner/name, or its address.")
        return EXIT_USAGE
    if arguments.file:
        name = arguments.file
        is_file = name.lower().endswith(".gguf")
        wanted = Reference(wanted.repository, name if is_file else "", "" if is_file else name)
    paths = default_paths()
    make_folders(paths)
    settings = open_settings()
    try:
        return _run(arguments, wanted, paths, settings)
    except HubError as error:
        _end_line()
        note(error)
        return EXIT_REFUSED
    except KeyboardInterrupt:
        _end_line()
        note("[stopped; the same command goes on from here]")
        return EXIT_INTERRUPTED


def _run(arguments: argparse.Namespace, wanted: Reference, paths: Paths, settings: Settings) -> int:
    hub = open_hub(paths, settings)
    listing = hub.listing(wanted.repository)
    models = [item for item in listing.variants if not item.projector and not item.missing]
    named = bool(wanted.file or wanted.quantization)
    if arguments.list or (not named and len(models) > 1):
        fits = read_fits(hub, listing, paths, settings)
        if arguments.json:
            print(json_line(_plain(listing, fits)))
        else:
            _print_files(listing, fits)
        if not arguments.list:
            note(f"Several files: name one, as in 'plimsoll get {listing.repository} Q4_K_M'.")
            return EXIT_USAGE
        return 0
    variant = choose(listing, wanted)
    job = job_of(listing, variant, str(folder_for(paths, settings, arguments.to)))
    note(f"[{job.title} of {job.repository}, {format_bytes(job.size_bytes)}, to {job.folder}]")
    begun = time.monotonic()
    files = download(job, hub, _Progress().show)
    _end_line()
    seconds = time.monotonic() - begun
    if arguments.json:
        print(
            json_line(
                {
                    "files": [str(path) for path in files],
                    "bytes": job.size_bytes,
                    "seconds": seconds,
                    "revision": job.revision,
                    "sha256": [file.sha256 for file in job.files],
                }
            )
        )
    else:
        say(shown(files[0]))
        note(f"[done in {format_seconds(seconds)}, checksum verified]")
    return 0


class _Progress:
    """How far it is: in place on a terminal, now and then elsewhere."""

    def __init__(self) -> None:
        self._told_s = time.monotonic()

    def show(self, transfer: Transfer) -> None:
        words = _words(transfer)
        if sys.stderr.isatty():
            print(f"\r\x1b[K{shown(words)}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self._told_s >= _EVERY_S:
            self._told_s = time.monotonic()
            note(f"[{words}]")


def _end_line() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _words(transfer: Transfer) -> str:
    done, total = transfer.done_bytes, transfer.total_bytes
    amount = f"{format_bytes(done)} of {format_bytes(total)} ({done / total if total else 1:.0%})"
    if transfer.phase == "checking":
        return f"checking what is there: {amount}"
    if transfer.phase == "waiting":
        return f"{amount}; waiting for the network: {transfer.note}"
    rate = f", {format_bytes(round(transfer.bytes_per_s))}/s" if transfer.bytes_per_s else ""
    left = f", {format_seconds(transfer.left_s)} left" if transfer.left_s is not None else ""
    return f"{amount}{rate}{left}"


# --- what there is


def _print_files(listing: Listing, fits: _Fits) -> None:
    if not listing.variants:
        note(f"{listing.repository} holds no GGUF file.")
        return
    print_table([_HEADINGS, *(_row(item, fits) for item in listing.variants)])
    notes = {fit.note for _, fit in fits.values() if fit.verdict == "unknown" and fit.note}
    for text in sorted(notes):
        note(text)


def _row(variant: Variant, fits: _Fits) -> tuple[str, ...]:
    facts, fit = fits.get(variant.key, (None, None))
    name = PurePosixPath(variant.key).name
    count = len(variant.files)
    bits = facts.bits_per_weight if facts is not None else None
    return (
        f"{name} (+{count - 1})" if count > 1 else name,
        variant.quantization or "–",
        format_bytes(variant.size_bytes),
        "–" if bits is None else f"{bits:.2f}",
        _fit_words(variant, fit),
        "–" if fit is None or fit.decode_high_per_s is None else f"{fit.decode_high_per_s:.2g}",
    )


def _fit_words(variant: Variant, fit: VariantFit | None) -> str:
    if variant.missing:
        return f"{counted(variant.missing, 'part')} missing"
    if fit is None:
        return "a projector"
    left = fit.left_bytes
    if fit.verdict == "unknown" or left is None:
        return "unknown"
    if fit.verdict == "too_large":
        return f"needs {format_bytes(-left)} more"
    if fit.verdict == "tight" and left < 0:
        return f"tight, up to {counted(fit.held_tokens or 0, 'token')}"
    return f"{fit.verdict}, {format_bytes(left)} free"


def _plain(listing: Listing, fits: _Fits) -> dict[str, object]:
    files = []
    for variant in listing.variants:
        facts, fit = fits.get(variant.key, (None, None))
        files.append(
            {
                "files": [file.path for file in variant.files],
                "sha256": [file.sha256 for file in variant.files],
                "quantization": variant.quantization,
                "size_bytes": variant.size_bytes,
                "bits_per_weight": None if facts is None else facts.bits_per_weight,
                "kind": "projector" if variant.projector else "model",
                "missing_parts": variant.missing,
                "fit": None if fit is None else fit.verdict,
                "max_context": None if fit is None else fit.max_context_tokens,
                "needed_bytes": None if fit is None else fit.needed_bytes,
                "decode_low": None if fit is None else fit.decode_low_per_s,
                "decode_high": None if fit is None else fit.decode_high_per_s,
                "basis": None if facts is None else "header",
                "note": None if fit is None else fit.note or None,
            }
        )
    return {
        "repository": listing.repository,
        "revision": listing.revision,
        "licence": listing.licence,
        "gated": listing.gated,
        "variants": files,
    }
