"""Runs first in a built program: puts the system's search path for libraries back.

PyInstaller's loader points it at the program's own folder. That has done its work by now, and
programs that are started from here (a browser, a file manager) must not load our libraries.

A process of this program that is started from here must set that path for itself once more; it
does so only if it is told that it is no part of the start of this one.

Text is UTF-8 here whatever the locale says, and Qt warns where that says something else; so it is
told. All but the encoding stays as the user set it.
"""

import os
import sys

for _name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LIBPATH"):
    _before = os.environ.pop(f"{_name}_ORIG", None)
    if _before is not None:
        os.environ[_name] = _before
    elif sys.platform != "win32":
        os.environ.pop(_name, None)

os.environ["PYINSTALLER_RESET_ENVIRONMENT"] = "1"

if sys.platform == "linux":
    _set = next((os.environ[n] for n in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(n)), "C")
    if "UTF" not in _set.upper():
        _all = os.environ.pop("LC_ALL", None)
        if _all is not None:
            os.environ["LANG"] = _all
        os.environ["LC_CTYPE"] = "C.UTF-8"
