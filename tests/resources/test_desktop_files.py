"""What Linux desktops read; the systems' own validators run where they are installed."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from resources.installers import deb, icons, linux, project
from resources.installers.project import Target

TARGET = Target("1.2.3", "linux", "x86_64")


@pytest.fixture
def share(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    made.mkdir()
    for size in icons.LINUX_SIZES:
        (made / f"{size}.png").write_bytes(icons.png(size))
    linux.desktop_files(TARGET, made, tmp_path / "share")
    return tmp_path / "share"


def test_the_menu_entry_opens_model_files(share: Path) -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(share / "applications" / "plimsoll.desktop", encoding="utf-8")
    entry = parser["Desktop Entry"]
    assert entry["Exec"].split() == ["plimsoll", "%f"]
    assert "application/x-gguf" in entry["MimeType"].split(";")
    # The window names this file, so that a desktop knows whose window it is.
    assert 'setDesktopFileName("plimsoll")' in (project.ROOT / "app" / "ui" / "start.py").read_text(
        encoding="utf-8"
    )


def test_the_icon_is_there_in_every_size(share: Path) -> None:
    for size in icons.LINUX_SIZES:
        assert (share / f"icons/hicolor/{size}x{size}/apps/plimsoll.png").stat().st_size > 200
    assert (share / "icons/hicolor/scalable/apps/plimsoll.svg").is_file()


def test_gguf_files_are_known_by_their_first_bytes(share: Path) -> None:
    root = ElementTree.parse(share / "mime" / "packages" / "plimsoll.xml").getroot()
    space = "{http://www.freedesktop.org/standards/shared-mime-info}"
    kind = root.find(f"{space}mime-type")
    assert kind is not None
    assert kind.get("type") == "application/x-gguf"
    match = kind.find(f"{space}magic/{space}match")
    assert match is not None
    assert match.get("value") == "GGUF"
    glob = kind.find(f"{space}glob")
    assert glob is not None
    assert glob.get("pattern") == "*.gguf"


def test_the_description_for_software_centres_is_filled_in(share: Path) -> None:
    path = share / "metainfo" / f"{project.APP_ID}.metainfo.xml"
    assert "@" not in path.read_text(encoding="utf-8")
    root = ElementTree.parse(path).getroot()
    assert root.findtext("id") == project.APP_ID
    assert root.findtext("launchable") == "plimsoll.desktop"
    release = root.find("releases/release")
    assert release is not None
    assert release.get("version") == "1.2.3"


@pytest.mark.parametrize(
    ("tool", "arguments", "name"),
    [
        ("desktop-file-validate", [], "applications/plimsoll.desktop"),
        ("appstreamcli", ["validate", "--no-net", "--pedantic"], "metainfo"),
    ],
)
def test_validators_find_nothing_wrong(
    share: Path, tool: str, arguments: list[str], name: str
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    path = share / name
    if path.is_dir():
        path = next(path.iterdir())
    done = subprocess.run(
        [tool, *arguments, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_control_file_names_what_debian_needs(tmp_path: Path) -> None:
    text = deb.control(Target("1.2.3-rc1", "linux", "arm64"), ["libc6 (>= 2.35)"], 1000)
    fields = dict(line.split(": ", 1) for line in text.splitlines() if line[0] != " ")
    assert fields["Architecture"] == "arm64"
    assert fields["Version"] == "1.2.3~rc1"  # before 1.2.3, as Debian sorts
    assert fields["Depends"].startswith("libc6 (>= 2.35), xkb-data")
    if shutil.which("dpkg-deb") is None:
        return
    root = tmp_path / "package"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN" / "control").write_text(text, encoding="utf-8")
    made = tmp_path / "x.deb"
    subprocess.run(["dpkg-deb", "--build", str(root), str(made)], check=True, capture_output=True)
    shown = subprocess.run(
        ["dpkg-deb", "-f", str(made), "Description"], check=True, capture_output=True, text=True
    )
    assert shown.stdout.startswith("chat with local models")


@pytest.mark.parametrize("name", ["menu-entry.sh", "AppRun"])
def test_scripts_are_whole(name: str) -> None:
    script = project.HERE / "linux" / name
    subprocess.run(["sh", "-n", str(script)], check=True)
    if shutil.which("shellcheck") is not None:
        subprocess.run(["shellcheck", str(script)], check=True)


def test_an_archive_is_the_same_each_time_and_its_menu_entry_leads_to_it(tmp_path: Path) -> None:
    tree, made, home = tmp_path / "tree", tmp_path / "made", tmp_path / "home"
    for folder in (tree, made, home):
        folder.mkdir()
    program = tree / "plimsoll"
    program.write_text("#!/bin/sh\necho started\n")
    program.chmod(0o755)
    for size in icons.LINUX_SIZES:
        (made / f"{size}.png").write_bytes(icons.png(size))
    packed = []
    for turn in ("one", "two"):
        out = tmp_path / f"{turn}.tar.gz"
        linux.make_tar(TARGET, tree, made, tmp_path / turn, out)
        packed.append(out.read_bytes())
    assert packed[0] == packed[1]
    subprocess.run(["tar", "-xzf", str(tmp_path / "one.tar.gz"), "-C", str(home)], check=True)
    folder = home / "plimsoll-1.2.3"
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    subprocess.run(
        [str(folder / "menu-entry.sh")], check=True, env=environment, capture_output=True
    )
    entry = home / ".local/share/applications/plimsoll.desktop"
    assert f'Exec="{folder}/plimsoll" %f' in entry.read_text(encoding="utf-8")
    subprocess.run(
        [str(folder / "menu-entry.sh"), "remove"], check=True, env=environment, capture_output=True
    )
    left = [path for path in (home / ".local").rglob("*plimsoll*") if path.is_file()]
    assert left == []
