"""Linux: one tree as it is installed, packed as .deb, .rpm and AppImage; and a .tar.gz besides.

The program lies in ``/usr/lib/plimsoll``; menu entry, icons, file type and manual go where desktops
look. File managers offer "Open with Plimsoll" because the desktop entry names the file type.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from resources.installers.icons import LINUX_SIZES
from resources.installers.project import APP_ID, HERE, ROOT, Target, metadata, source_date

__all__ = ["desktop_files", "newest_glibc", "pack", "stage"]

_DATA: Final = HERE / "linux"
_GLIBC: Final = re.compile(rb"GLIBC_2\.(\d+)\0")


def pack(
    kind: str, target: Target, tree: Path, made: Path, work: Path, out: Path, *, fast: bool = False
) -> Path | None:
    """Make one kind of package; None, with a line that says why, where its tool is missing.

    ``fast`` compresses little, to try things out.

    Raises:
        subprocess.CalledProcessError: the tool refuses.
    """
    if kind == "tar.gz":
        return make_tar(target, tree, made, work, out, fast=fast)
    tools = {"deb": "dpkg-deb", "rpm": "rpmbuild", "AppImage": "appimagetool"}
    if shutil.which(tools[kind]) is None:
        print(f"no {kind}: {tools[kind]} is not installed", file=sys.stderr)
        return None
    if kind == "deb":
        from resources.installers.deb import make_deb

        return make_deb(target, stage(target, tree, made, work / "deb"), tree, out, fast=fast)
    if kind == "rpm":
        return make_rpm(target, stage(target, tree, made, work / "rpm"), work, out, fast=fast)
    return make_appimage(target, stage(target, tree, made, work / "AppDir"), out)


def filled(name: str, target: Target, **more: str) -> str:
    """Return a text of ``linux/`` with its ``@NAMES@`` filled in."""
    when = datetime.fromtimestamp(source_date(), UTC)
    urls = metadata().get("urls")
    home = urls.get("Homepage") if isinstance(urls, dict) else None
    values = {
        "APP_ID": APP_ID,
        "VERSION": target.version,
        "DATE": f"{when:%Y-%m-%d}",
        "URL": f'<url type="homepage">{home}</url>' if home else "",
        **more,
    }
    text = (_DATA / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def desktop_files(target: Target, made: Path, share: Path) -> None:
    """Write menu entry, file type, AppStream description and icons below a ``share`` folder."""
    texts = {
        "applications/plimsoll.desktop": filled("plimsoll.desktop", target),
        "mime/packages/plimsoll.xml": filled("mime.xml", target),
        f"metainfo/{APP_ID}.metainfo.xml": filled("metainfo.xml", target),
    }
    for name, text in texts.items():
        path = share / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for size in LINUX_SIZES:
        folder = share / "icons" / "hicolor" / f"{size}x{size}" / "apps"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made / f"{size}.png", folder / "plimsoll.png")
    folder = share / "icons" / "hicolor" / "scalable" / "apps"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / "resources" / "icons" / "app-icon.svg", folder / "plimsoll.svg")


def stage(target: Target, tree: Path, made: Path, root: Path) -> Path:
    """Lay the program out below ``root`` as it is installed, and return ``root``."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "usr" / "bin").mkdir(parents=True)
    shutil.copytree(tree, root / "usr" / "lib" / "plimsoll", symlinks=True)
    (root / "usr" / "bin" / "plimsoll").symlink_to("../lib/plimsoll/plimsoll")
    desktop_files(target, made, root / "usr" / "share")
    manual = root / "usr" / "share" / "man" / "man1" / "plimsoll.1.gz"
    manual.parent.mkdir(parents=True)
    manual.write_bytes(gzip.compress(filled("plimsoll.1", target).encode(), 9, mtime=0))
    settle(root)
    return root


def settle(root: Path) -> None:
    """Give files the commit's time and plain rights, whatever this computer's mask is."""
    when = source_date()
    for path in [*root.rglob("*"), root]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        os.utime(path, (when, when), follow_symlinks=False)


def newest_glibc(files: Iterable[Path]) -> str:
    """Return the newest version of glibc that some libraries and programs name."""
    newest = 17
    for path in files:
        data = path.read_bytes()
        if data[:4] == b"\x7fELF":
            newest = max(newest, *(int(number) for number in _GLIBC.findall(data)), newest)
    return f"2.{newest}"


def make_tar(
    target: Target, tree: Path, made: Path, work: Path, out: Path, *, fast: bool = False
) -> Path:
    """Pack the program's folder with a script for the menu; byte for byte the same each time."""
    root = work / "tar" / target.folder
    shutil.rmtree(root.parent, ignore_errors=True)
    shutil.copytree(tree, root, symlinks=True)
    desktop_files(target, made, root / "share")
    glibc = newest_glibc(path for path in tree.rglob("*") if path.is_file())
    (root / "README.txt").write_text(filled("README.txt", target, GLIBC=glibc), encoding="utf-8")
    script = root / "menu-entry.sh"
    shutil.copyfile(_DATA / "menu-entry.sh", script)
    script.chmod(0o755)
    settle(root)

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = source_date()
        return member

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in [root, *sorted(root.rglob("*"))]:
            name = str(path.relative_to(root.parent))
            archive.add(path, name, recursive=False, filter=plain)
    out.write_bytes(gzip.compress(packed.getvalue(), 1 if fast else 6, mtime=0))
    return out


def make_rpm(target: Target, root: Path, work: Path, out: Path, *, fast: bool = False) -> Path:
    """Pack a staged tree as RPM; rpm itself finds which libraries it needs."""
    inside = root / "usr" / "lib" / "plimsoll"
    names = {path.name for path in inside.rglob("lib*.so*")}
    # Brackets, because backslashes mean something else to rpm's macros than to its patterns.
    bundled = sorted(name.replace(".", "[.]").replace("+", "[+]") for name in names)
    top = work / "rpmbuild"
    shutil.rmtree(top, ignore_errors=True)
    top.mkdir(parents=True)
    spec = top / "plimsoll.spec"
    spec.write_text(
        filled(
            "plimsoll.rpm.spec",
            target,
            STAGE=str(root.resolve()),
            BUNDLED="|".join(bundled),
            LEVEL="1" if fast else "6",
            RPM_VERSION=target.version.replace("-", "~"),
        ),
        encoding="utf-8",
    )
    when = str(source_date())
    command = ["rpmbuild", "-bb", "--quiet", "--target", target.rpm_machine]
    for name, value in {
        "_topdir": str(top.resolve()),
        "_rpmdir": str(top.resolve()),
        "_buildhost": "plimsoll",
        "use_source_date_epoch_as_buildtime": "1",
        "clamp_mtime_to_source_date_epoch": "1",
    }.items():
        command += ["--define", f"{name} {value}"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": when}
    subprocess.run([*command, str(spec)], check=True, env=environment)
    made = next(top.rglob("*.rpm"))
    shutil.copyfile(made, out)
    return out


def make_appimage(target: Target, root: Path, out: Path) -> Path:
    """Pack a staged tree as AppImage."""
    shutil.copyfile(_DATA / "AppRun", root / "AppRun")
    (root / "AppRun").chmod(0o755)
    shutil.copyfile(_DATA / "plimsoll.desktop", root / "plimsoll.desktop")
    shutil.copyfile(
        root / "usr/share/icons/hicolor/256x256/apps/plimsoll.png", root / "plimsoll.png"
    )
    machine = {"arm64": "aarch64"}.get(target.machine, target.machine)
    environment = {**os.environ, "ARCH": machine, "SOURCE_DATE_EPOCH": str(source_date())}
    subprocess.run(["appimagetool", "--no-appstream", str(root), str(out)],
                   check=True, env=environment)  # fmt: skip
    return out
