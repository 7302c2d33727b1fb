"""Hostile documents that people hand to the program: attachments, reports, folders of models."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Final

from app.data.attachments import AttachmentError, read_attachment
from app.data.library.groups import arrange
from app.data.library.places import places_for
from app.data.library.scan import remembered, scan
from app.paths import Paths
from inspector.plan_record import SettingsRecord
from inspector.records import Identity, LoadRecord
from inspector.report import read_report, report_as_json, report_as_markdown
from tests.app.data.test_attachments import pdf
from tests.helpers.gguf_bytes import GgufBuilder
from tests.helpers.hostile_values import nasty_bytes, put_in_place_of, spoiled
from tests.helpers.library_files import write_ollama
from tests.helpers.tiny_gguf import TinyModel, tiny_builder
from tests.inspector.conftest import turn

__all__ = ["attack_attachment", "attack_library", "attack_report"]

_PDF: Final = pdf("First page", "Second page")


def attack_attachment(folder: Path, chance: random.Random) -> str:
    """Attach something hostile."""
    path = folder / chance.choice(["a.pdf", "notes.md", "x\u202egpj.txt"])
    way = chance.randrange(4)
    if way == 0:
        said = put_in_place_of(path, chance)
    elif way == 1:
        data = spoiled(spoiled(_PDF, chance), chance)
        path.write_bytes(data)
        said = f"PDF {data[:60]!r}"
    elif way == 2:
        path.write_bytes(nasty_bytes(chance, {"a": "text"}))
        said = "other bytes"
    else:
        encoding = chance.choice(["utf-16", "utf-32", "latin-1", "utf-8"])
        text = "".join(chr(chance.choice([9, 65, 233, 0x3A9, 0x1F6A2])) for _ in range(300))
        path.write_bytes(spoiled(text.encode(encoding, "replace"), chance))
        said = encoding
    words = "a sentence without an end"
    try:
        found = read_attachment(path)
    except AttachmentError as refusal:
        words = str(refusal)
    else:
        found.text.encode("utf-8")
        assert "\0" not in found.text
    assert 10 < len(words) < 600, f"said: {words[:700]}"
    assert "\n" not in words, words
    return said


def attack_report(folder: Path, chance: random.Random) -> str:
    """Open a report that is none."""
    like = report_as_json(
        "T",
        [
            turn(
                LoadRecord(
                    at_ms=1, identity=Identity(engine="e"), settings=SettingsRecord(n_ctx=512)
                )
            )
        ],
    )
    data = nasty_bytes(chance, json.loads(json.dumps(like)))
    said = "a sentence"
    try:
        title, turns = read_report(data)
    except ValueError as refusal:
        said = str(refusal)
    else:
        report_as_markdown(title, turns)
        json.dumps(report_as_json(title, turns))
    assert 5 < len(said) < 600, f"said: {said[:700]}"
    return repr(data[:300])


def attack_library(folder: Path, chance: random.Random) -> str:
    """Look for models in a home full of hostile files, with a hostile cache of an earlier look."""
    paths = Paths(folder / "data", folder / "cache")
    home = folder / "home"
    for made in (paths.models, paths.cache, home / ".lmstudio", home / ".ollama" / "models"):
        made.mkdir(parents=True)
    sound = _tiny(chance.randrange(3)).build()
    for number in range(6):
        path = paths.models / chance.choice(
            [f"m{number}-Q4_0.gguf", f"m-0000{number}-of-00003.gguf", f"mmproj-{number}.gguf"]
        )
        if chance.random() < 0.2 and not path.exists():
            put_in_place_of(path, chance)
        elif not path.is_dir():
            path.unlink(missing_ok=True)
            path.write_bytes(spoiled(sound, chance))
    (home / ".lmstudio" / "settings.json").write_bytes(
        nasty_bytes(chance, {"downloadsFolder": str(paths.models)})
    )
    write_ollama(home / ".ollama" / "models", "tiny", "latest", _tiny(1))
    for manifest in (home / ".ollama" / "models" / "manifests").rglob("*"):
        if manifest.is_file():
            like: Any = json.loads(manifest.read_bytes())
            manifest.write_bytes(nasty_bytes(chance, like))
    places = places_for(paths, platform="linux", home=home, environ={})
    for _ in range(2):
        entries = list(scan(places, paths.library_cache))
        arrange(entries)
        for entry in entries:
            assert entry.problem is None or 5 < len(entry.problem) < 600, entry.problem
        cache = paths.library_cache
        if cache.is_file() and chance.random() < 0.5:
            cache.write_bytes(spoiled(cache.read_bytes(), chance))
        remembered(places, cache)
    return "a home"


def _tiny(seed: int) -> GgufBuilder:
    return tiny_builder(TinyModel(layers=1, seed=seed))
