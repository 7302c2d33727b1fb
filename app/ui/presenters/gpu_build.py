"""How to get a build of the engine that uses a GPU, by system."""

from __future__ import annotations

from typing import Final

__all__ = ["gpu_build_help"]

_PACKAGE: Final = "llama-cpp-python"
_CASES: Final = (
    ("NVIDIA (CUDA toolkit and driver needed)", "-DGGML_CUDA=ON"),
    ("AMD (ROCm needed)", "-DGGML_HIP=ON"),
    ("Any GPU by Vulkan (Vulkan SDK needed)", "-DGGML_VULKAN=ON"),
)


def gpu_build_help(platform: str) -> str:
    """Return the commands, one case a paragraph; ``platform`` as `sys.platform`."""
    if platform == "darwin":
        return (
            "On a Mac with Apple silicon Metal is on by itself. If it is missing, install the "
            "command line tools (xcode-select --install) and build the engine again:\n\n"
            f"{_line(platform, '-DGGML_METAL=ON')}"
        )
    head = (
        "In the environment that Plimsoll runs in, with a C++ compiler; the build takes some "
        "minutes. An installed program carries its own engine: take the download that is named "
        "after your GPU's backend instead."
    )
    parts = [f"{name}:\n{_line(platform, option)}" for name, option in _CASES]
    return "\n\n".join((head, *parts))


def _line(platform: str, option: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        pinned = f"{_PACKAGE}=={version(_PACKAGE)}"
    except PackageNotFoundError:
        pinned = _PACKAGE
    command = f"pip install --force-reinstall --no-cache-dir --no-binary {_PACKAGE} {pinned}"
    if platform == "win32":
        return f'set "CMAKE_ARGS={option} -DGGML_RPC=ON" && {command}'
    return f'CMAKE_ARGS="{option} -DGGML_RPC=ON" {command}'
