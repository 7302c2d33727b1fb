"""macOS: what the .app says of itself, signing and notarisation, and the disk image."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Final

from resources.installers.project import APP_ID, HERE, Target

__all__ = ["ENTITLEMENTS", "dmg_command", "info_plist", "make_dmg", "notarise_commands", "sign"]

ENTITLEMENTS: Final = HERE / "macos" / "entitlements.plist"
_DMG_SETTINGS: Final = HERE / "macos" / "dmg_settings.py"
_OLDEST: Final = "13.3"


def info_plist(target: Target) -> dict[str, Any]:
    """Return the ``Info.plist`` of the bundle: name, icon, and that it opens GGUF files."""
    return {
        "CFBundleName": "Plimsoll",
        "CFBundleDisplayName": "Plimsoll",
        "CFBundleIdentifier": APP_ID,
        "CFBundleShortVersionString": target.version,
        "CFBundleVersion": target.version,
        "LSMinimumSystemVersion": _OLDEST,
        "LSApplicationCategoryType": "public.app-category.productivity",
        "NSHighResolutionCapable": True,
        "NSSupportsAutomaticGraphicsSwitching": True,
        "NSPrincipalClass": "NSApplication",
        "NSHumanReadableCopyright": "MIT licence",
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": "GGUF model",
                "CFBundleTypeRole": "Viewer",
                "LSHandlerRank": "Alternate",
                "LSItemContentTypes": [f"{APP_ID}.gguf"],
                "CFBundleTypeIconFile": "plimsoll.icns",
            }
        ],
        # "Imported": the type is llama.cpp's, not this program's.
        "UTImportedTypeDeclarations": [
            {
                "UTTypeIdentifier": f"{APP_ID}.gguf",
                "UTTypeDescription": "GGUF model",
                "UTTypeConformsTo": ["public.data"],
                "UTTypeTagSpecification": {"public.filename-extension": ["gguf"]},
            }
        ],
    }


def sign(app: Path, identity: str) -> list[str]:
    """Return the command that signs a bundle with the hardened runtime, inside out."""
    return [
        "codesign", "--force", "--deep", "--options", "runtime", "--timestamp",
        "--entitlements", str(ENTITLEMENTS), "--sign", identity, str(app),
    ]  # fmt: skip


def notarise_commands(image: Path, profile: str) -> list[list[str]]:
    """Return the commands that have Apple check a disk image, and staple the answer to it.

    ``profile`` is a keychain profile made by ``xcrun notarytool store-credentials``.
    """
    return [
        ["xcrun", "notarytool", "submit", str(image), "--keychain-profile", profile, "--wait"],
        ["xcrun", "stapler", "staple", str(image)],
    ]


def dmg_command(app: Path, image: Path, icon: Path) -> list[str]:
    """Return the command that lays out the disk image: the program beside Applications."""
    defines = {"app": app, "icon": icon}
    command = ["dmgbuild", "-s", str(_DMG_SETTINGS)]
    for name, value in defines.items():
        command += ["-D", f"{name}={value}"]
    return [*command, "Plimsoll", str(image)]


def make_dmg(app: Path, image: Path, icon: Path) -> Path:
    """Sign if there is an identity, make the image, notarise if there is a profile.

    ``PLIMSOLL_SIGN_IDENTITY`` and ``PLIMSOLL_NOTARY_PROFILE`` name them; without, the image is
    made unsigned, and macOS asks before it opens the program the first time.

    Raises:
        subprocess.CalledProcessError: a step failed.
    """
    identity = os.environ.get("PLIMSOLL_SIGN_IDENTITY")
    profile = os.environ.get("PLIMSOLL_NOTARY_PROFILE")
    if identity:
        subprocess.run(sign(app, identity), check=True)
        subprocess.run(["codesign", "--verify", "--deep", "--strict", str(app)], check=True)
    image.unlink(missing_ok=True)
    subprocess.run(dmg_command(app, image, icon), check=True)
    if identity:
        subprocess.run(["codesign", "--timestamp", "--sign", identity, str(image)], check=True)
        if profile:
            for command in notarise_commands(image, profile):
                subprocess.run(command, check=True)
    return image
