"""Runs the tests that reach a fault, in a fork of a process that has collected them all.

A fault is made by giving a function another body, wherever it is referred to; so it must lie inside
one.
"""

from __future__ import annotations

import ast
import functools
import gc
import os
import resource
import signal
import time
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import coverage
import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.sites import Module, Site

__all__ = ["Forks", "Loop", "Outcome"]

_KILLED, _SURVIVED, _INVALID = 10, 11, 12
_MOST_MEMORY_BYTES = 6 << 30


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a fault."""

    site: Site
    fate: str  # killed, timeout, survived, invalid, unreached
    by: str = ""


class Forks:
    """Runs one fault a child process, ``at_once`` side by side."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._running: dict[int, tuple[Site, int]] = {}

    def start(
        self, site: Site, work: Callable[[], tuple[int, str]], limit_s: float
    ) -> Iterator[Outcome]:
        """Start a child; yield what ended meanwhile, so that no more than ``at_once`` run."""
        while len(self._running) >= self._at_once:
            yield self._wait()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _in_child(work, writer, limit_s)
        os.close(writer)
        self._running[child] = (site, reader)

    def rest(self) -> Iterator[Outcome]:
        """Yield what is still running, as it ends."""
        while self._running:
            yield self._wait()

    def _wait(self) -> Outcome:
        while True:
            child, status = os.waitpid(-1, 0)
            if child in self._running:
                break
        site, reader = self._running.pop(child)
        with os.fdopen(reader) as file:
            by = file.read()
        if os.WIFSIGNALED(status):
            return Outcome(site, "timeout", signal.Signals(os.WTERMSIG(status)).name)
        code = os.WEXITSTATUS(status)
        fates = {_KILLED: "killed", _SURVIVED: "survived", _INVALID: "invalid"}
        return Outcome(site, fates.get(code, "killed"), by)


def _in_child(work: Callable[[], tuple[int, str]], writer: int, limit_s: float) -> None:
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit_s)
        code, by = work()
        os.write(writer, by.encode()[:4000])
    except BaseException as error:  # a fault may end anything, SystemExit included
        os.write(writer, repr(error).encode()[:4000])
        code = _KILLED
    finally:
        os._exit(code)


@dataclass
class Reach:
    """Which tests reach a line, and how long each takes."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)

    def tests(
        self, site: Site, patience_s: float, first: Iterable[str], leave_out: set[str]
    ) -> list[str]:
        """Return tests that reach a fault, quickest first, within a time."""
        by_line = self.lines.get(str(site.path), {})
        found = set(by_line.get(site.line, ())) - leave_out
        if not found:  # a number that stands on a line by itself is no step of its own
            found = {test for line in site.statement for test in by_line.get(line, ())} - leave_out
        order = [test for test in first if test in found]
        order += sorted(found.difference(order), key=self.seconds.__getitem__)
        chosen: list[str] = []
        total_s = 0.0
        for test in order:
            total_s += self.seconds[test]
            if chosen and total_s > patience_s:
                break
            chosen.append(test)
        return chosen


class Loop:
    """Takes the place of pytest's loop: all tests once, then those that reach each fault."""

    def __init__(
        self,
        modules: list[Module],
        sites: list[Site],
        forks: Forks,
        done: Callable[[Outcome], bool],
        patience_s: float,
    ) -> None:
        self.reach = Reach()
        self.red: list[str] = []
        self._modules = {module.path: module for module in modules}
        self._sites = sites
        self._forks = forks
        self._done = done
        self._patience_s = patience_s

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run what was collected."""
        self._first_run(session)
        left_out = set(self.red)
        items = {item.nodeid: item for item in session.items if item.nodeid not in left_out}
        self._faults(session, items)
        session._setupstate.teardown_exact(None)
        return True

    def _first_run(self, session: pytest.Session) -> None:
        seen = coverage.Coverage(
            data_file=None, config_file=False, include=[str(path) for path in self._modules]
        )
        session_only = _Only(session)
        caches = _caches()
        for index, item in enumerate(session.items):
            for cached in caches:  # or a test would not reach what an earlier one has asked for
                cached.cache_clear()
            following = session.items[index + 1] if index + 1 < len(session.items) else session_only
            started = time.monotonic()
            seen.start()
            seen.switch_context(item.nodeid)
            reports = runtestprotocol(item, log=False, nextitem=following)  # type: ignore[arg-type]
            seen.stop()
            self.reach.seconds[item.nodeid] = time.monotonic() - started
            self.red += [item.nodeid for report in reports if report.failed]
        data = seen.get_data()
        for path in data.measured_files():
            self.reach.lines[path] = {
                line: [test for test in tests if test]
                for line, tests in data.contexts_by_lineno(path).items()
            }

    def _faults(self, session: pytest.Session, items: dict[str, pytest.Item]) -> None:
        for cached in _caches():
            cached.cache_clear()
        functions = _functions(self._modules)
        killers: dict[tuple[Path, str | None], list[str]] = defaultdict(list)
        gc.freeze()

        def note(outcome: Outcome) -> bool:
            known = killers[outcome.site.path, outcome.site.inside]
            if outcome.fate == "killed" and outcome.by in items and outcome.by not in known:
                known.insert(0, outcome.by)
            return self._done(outcome)

        for site in self._sites:
            first = killers[site.path, site.inside][:5]
            chosen = self.reach.tests(site, self._patience_s, first, set(self.red))
            if not chosen:
                self._done(Outcome(site, "unreached"))
                continue
            tests = [items[test] for test in chosen]

            def work(site: Site = site, tests: list[pytest.Item] = tests) -> tuple[int, str]:
                site.make()
                if not _swap(self._modules[site.path], functions[site.path]):
                    return _INVALID, ""
                return _run(session, tests)

            limit_s = 20 + 4 * sum(self.reach.seconds[test] for test in chosen)
            going = True
            for outcome in self._forks.start(site, work, limit_s):
                going = note(outcome)
            if not going:
                break
        for outcome in self._forks.rest():
            note(outcome)


class _Only:
    """Stands for a next test that needs nothing but what the whole run keeps."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session

    def listchain(self) -> list[object]:
        return [self._session]


def _run(session: pytest.Session, tests: list[pytest.Item]) -> tuple[int, str]:
    for index, item in enumerate(tests):
        following = tests[index + 1] if index + 1 < len(tests) else _Only(session)
        reports = runtestprotocol(item, log=False, nextitem=following)  # type: ignore[arg-type]
        if any(report.failed for report in reports):
            return _KILLED, item.nodeid
    return _SURVIVED, ""


def _caches() -> list[functools._lru_cache_wrapper[Any]]:
    return [item for item in gc.get_objects() if isinstance(item, functools._lru_cache_wrapper)]


_Key = tuple[str, int]


def _functions(paths: Iterable[Path]) -> dict[Path, dict[_Key, list[types.FunctionType]]]:
    """Return the functions that live, by file and place."""
    found: dict[Path, dict[_Key, list[types.FunctionType]]] = {p: defaultdict(list) for p in paths}
    for item in gc.get_objects():
        if isinstance(item, types.FunctionType):
            by_place = found.get(Path(item.__code__.co_filename))
            if by_place is not None:
                by_place[item.__code__.co_qualname, item.__code__.co_firstlineno].append(item)
    return found


def _swap(module: Module, functions: dict[_Key, list[types.FunctionType]]) -> bool:
    """Give every function of the file the body that its tree has now."""
    code = compile(ast.fix_missing_locations(module.tree), str(module.path), "exec")
    swapped = False
    for body in _codes(code):
        for function in functions.get((body.co_qualname, body.co_firstlineno), ()):
            if body.co_freevars != function.__code__.co_freevars:
                return False
            if body != function.__code__:
                function.__code__ = body
                swapped = True
    return swapped


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            yield item
            yield from _codes(item)
