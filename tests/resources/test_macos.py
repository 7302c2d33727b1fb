from __future__ import annotations

import plistlib
from pathlib import Path

from resources.installers import macos
from resources.installers.project import APP_ID, Target

TARGET = Target("1.2.3", "macos", "arm64")


def test_the_bundle_opens_model_files() -> None:
    plist = plistlib.loads(plistlib.dumps(macos.info_plist(TARGET)))
    assert plist["CFBundleIdentifier"] == APP_ID
    assert plist["CFBundleShortVersionString"] == "1.2.3"
    (kind,) = plist["CFBundleDocumentTypes"]
    (declared,) = plist["UTImportedTypeDeclarations"]
    assert kind["LSItemContentTypes"] == [declared["UTTypeIdentifier"]]
    assert declared["UTTypeTagSpecification"]["public.filename-extension"] == ["gguf"]
    assert kind["LSHandlerRank"] == "Alternate"  # offers itself, takes no file from another


def test_the_hardened_runtime_is_loosened_only_where_it_must_be() -> None:
    rights = plistlib.loads(macos.ENTITLEMENTS.read_bytes())
    assert rights == {
        "com.apple.security.cs.allow-unsigned-executable-memory": True,
        "com.apple.security.cs.disable-library-validation": True,
    }


def test_signing_is_hardened_and_dated() -> None:
    command = macos.sign(Path("Plimsoll.app"), "Developer ID Application: X")
    assert command[command.index("--options") + 1] == "runtime"
    assert "--timestamp" in command
    assert command[command.index("--entitlements") + 1] == str(macos.ENTITLEMENTS)


def test_notarisation_waits_and_staples() -> None:
    submit, staple = macos.notarise_commands(Path("x.dmg"), "profile")
    assert submit[:3] == ["xcrun", "notarytool", "submit"]
    assert "--wait" in submit
    assert staple == ["xcrun", "stapler", "staple", "x.dmg"]


def test_the_disk_image_shows_the_program_beside_applications() -> None:
    command = macos.dmg_command(Path("Plimsoll.app"), Path("x.dmg"), Path("p.icns"))
    settings = Path(command[command.index("-s") + 1])
    laid_out: dict[str, object] = {"defines": {"app": "/a/Plimsoll.app", "icon": "p.icns"}}
    exec(compile(settings.read_text(encoding="utf-8"), str(settings), "exec"), laid_out)
    assert laid_out["files"] == ["/a/Plimsoll.app"]
    assert laid_out["symlinks"] == {"Applications": "/Applications"}
    assert set(laid_out["icon_locations"]) == {"Plimsoll.app", "Applications"}  # type: ignore[call-overload]
