"""Hostile templates, with the real child process. The tests name the situations of A09."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import psutil
import pytest

from app.engine.templates.errors import TemplateError
from app.engine.templates.renderer import TemplateRenderer, argv
from tests.helpers.patience import PATIENCE_S

MEBIBYTE = 1024**2


@pytest.fixture
def renderer() -> Iterator[TemplateRenderer]:
    with TemplateRenderer(time_limit_s=0.5) as renderer:
        yield renderer


def kind_of(renderer: TemplateRenderer, source: str, **values: object) -> str:
    with pytest.raises(TemplateError) as caught:
        renderer.render(source, values)
    return caught.value.kind


def test_it_renders_and_keeps_its_child(renderer: TemplateRenderer) -> None:
    assert renderer.pid is None
    assert renderer.render("{{ a }}", {"a": "1 ä \ufdd0 🙂"}) == "1 ä \ufdd0 🙂"
    pid = renderer.pid
    assert renderer.render("{{ a }}", {"a": 2}) == "2"
    assert renderer.pid == pid


def test_errors_come_through_and_cost_no_child(renderer: TemplateRenderer) -> None:
    renderer.render("", {})
    pid = renderer.pid
    with pytest.raises(TemplateError) as caught:
        renderer.render("\n{% nonsense %}", {})
    assert (caught.value.kind, caught.value.line) == ("syntax", 2)
    assert "nonsense" in caught.value.message
    assert renderer.pid == pid


def test_the_time_is_pinned(renderer: TemplateRenderer) -> None:
    source = "{{ strftime_now('%Y-%m-%d') }}"
    assert renderer.render(source, {}, "2001-02-03T04:05:06") == "2001-02-03"
    with pytest.raises(ValueError, match="isoformat"):
        renderer.render(source, {}, "soon")


NESTED_LOOP = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"


def test_a09_endless_loop_is_killed_and_the_next_template_works(
    renderer: TemplateRenderer,
) -> None:
    renderer.render("", {})
    pid = renderer.pid
    assert kind_of(renderer, NESTED_LOOP) == "time"
    assert renderer.render("fine", {}) == "fine"
    assert renderer.pid != pid
    assert pid is not None
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize(
    "source",
    [
        "{{ 1 | round(1000000000, 'ceil') }}",  # one C call that never lets go
        (
            "{% set c = cycler(1, 2) %}{% for i in range(99999) %}{% for j in range(99999) %}"
            "{% set x = c.next() %}{% endfor %}{% endfor %}"
        ),
        "{{ ('a' * 999999) | urlize | urlize | urlize | urlize | urlize | wordwrap(1) }}",
        "{{ range(99999) | map('string') | map('center', 9999) | join | wordcount }}",
        (
            "{% for i in range(9999) %}{{ ('ab' * 9999) | replace('a', 'b' * 99999) | length }}"
            "{% endfor %}"
        ),
    ],
)
def test_a09_slow_operations_are_killed(renderer: TemplateRenderer, source: str) -> None:
    assert kind_of(renderer, source) in {"time", "memory"}
    assert renderer.render("fine", {}) == "fine"


def test_a09_a_gigabyte_of_output_is_cut_off(renderer: TemplateRenderer) -> None:
    source = "{% for i in range(99999) %}{{ 'x' * 10000 }}{% endfor %}"
    assert kind_of(renderer, source) == "output"


MEMORY_BOMBS = [
    # doubling by concatenation
    (
        "{% set ns = namespace(x='x' * 1000) %}{% for i in range(60) %}"
        "{% set ns.x = ns.x ~ ns.x %}{% endfor %}"
    ),
    (
        "{% set ns = namespace(x='x' * 1000) %}{% for i in range(60) %}"
        "{% set ns.x = ns.x + ns.x %}{% endfor %}"
    ),
    (
        "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}"
        "{% set ns.x = ns.x + ns.x %}{% endfor %}"
    ),
    # doubling by joining, formatting, replacing and capturing
    (
        "{% set ns = namespace(x='x' * 1000) %}{% for i in range(60) %}"
        "{% set ns.x = [ns.x, ns.x] | join %}{% endfor %}"
    ),
    (
        "{% set ns = namespace(x='x' * 1000) %}{% for i in range(60) %}"
        "{% set ns.x = '%s%s' % (ns.x, ns.x) %}{% endfor %}"
    ),
    (
        "{% set ns = namespace(x='x' * 1000) %}{% for i in range(60) %}"
        "{% set ns.x = '{0}{0}'.format(ns.x) %}{% endfor %}"
    ),
    "{{ ('a' * 999999).replace('a', 'b' * 999999) | length }}",
    "{% set x %}{% for i in range(99999) %}{{ 'x' * 99999 }}{% endfor %}{% endset %}",
    (
        "{% macro m() %}{% for i in range(99999) %}{{ 'x' * 99999 }}{% endfor %}{% endmacro %}"
        "{% set x = m() %}"
    ),
    "{% filter upper %}{% for i in range(99999) %}{{ 'x' * 99999 }}{% endfor %}{% endfilter %}",
]


@pytest.mark.parametrize("source", MEMORY_BOMBS)
def test_a09_memory_bombs(source: str) -> None:
    with TemplateRenderer(memory_limit_bytes=300 * MEBIBYTE) as renderer:
        assert kind_of(renderer, source) == "memory"
        assert renderer.render("fine", {}) == "fine"


def test_a09_memory_is_watched_where_the_system_has_no_limit() -> None:
    command = (
        "import sys; sys.modules['resource'] = None\n"
        "from app.engine.templates.child import main; sys.exit(main())"
    )
    loops = "{% for i in range(9999) %}{% for j in range(9999) %}"
    grow = "{% set x %}" + loops + "{{ 'x' * 9999 }}{{ i }}{% endfor %}{% endfor %}{% endset %}"
    with TemplateRenderer(
        command=[sys.executable, "-c", command], memory_limit_bytes=60 * MEBIBYTE
    ) as renderer:
        assert kind_of(renderer, grow) == "memory"
        assert renderer.render("fine", {}) == "fine"


@pytest.mark.parametrize(
    "source",
    [
        "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
        "{% for i in [[1]] recursive %}{{ loop([[i]]) }}{% endfor %}",
        "{% for i in range(99999) recursive %}{{ loop(range(99999)) }}{% endfor %}",
        "{{ " + "(" * 50_000 + "1" + ")" * 50_000 + " }}",
        "{{ " + "[" * 5_000 + "]" * 5_000 + " }}",
        "{{ " + "-" * 50_000 + "1 }}",
        "{{ " + "not " * 50_000 + "1 }}",
        "{% if 1 %}" * 5_000 + "{% endif %}" * 5_000,
        "{% for i in range(2) %}" * 60 + "{% endfor %}" * 60,
    ],
)
def test_a09_deep_nesting_ends_as_an_error(renderer: TemplateRenderer, source: str) -> None:
    assert kind_of(renderer, source) in {"refused", "syntax", "memory", "time"}
    assert renderer.render("fine", {}) == "fine"


def test_a09_payload_in_the_attributes_is_refused(renderer: TemplateRenderer) -> None:
    source = "{{ cycler.__init__.__globals__.os.system('true') }}"
    assert kind_of(renderer, source) == "refused"


def test_a_child_that_dies_is_replaced(renderer: TemplateRenderer) -> None:
    renderer.render("", {})
    assert renderer.pid is not None
    child = psutil.Process(renderer.pid)
    child.kill()
    child.wait(PATIENCE_S)
    assert renderer.render("fine", {}) == "fine"


def test_a_child_that_does_not_start_is_said() -> None:
    with TemplateRenderer(command=[sys.executable, "-c", ""]) as renderer:
        assert kind_of(renderer, "x") == "refused"
    with TemplateRenderer(command=[os.path.join(os.sep, "no", "such", "program")]) as renderer:  # noqa: PTH118
        assert kind_of(renderer, "x") == "refused"


def test_closing_ends_the_child_even_while_it_renders() -> None:
    renderer = TemplateRenderer(time_limit_s=60)
    renderer.render("", {})
    pid = renderer.pid
    kinds: list[str] = []
    waiting = threading.Thread(target=lambda: kinds.append(kind_of(renderer, NESTED_LOOP)))
    waiting.start()
    while not psutil.Process(pid).cpu_times().user > 0.2:
        waiting.join(0.01)
    renderer.close()
    waiting.join(PATIENCE_S)
    assert kinds == ["memory"]
    renderer.close()
    assert renderer.pid is None


def test_calls_of_several_threads_do_not_mix(renderer: TemplateRenderer) -> None:
    results: dict[int, list[str]] = {}

    def work(number: int) -> None:
        results[number] = [renderer.render("{{ n }}", {"n": number}) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert results == {n: [str(n)] * 20 for n in range(4)}


def test_the_child_ends_with_its_input() -> None:
    done = subprocess.run(argv(), input=b"", capture_output=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\x00\x00\x00\x01R", b"")


def test_what_a_library_prints_is_no_answer() -> None:
    command = (
        "import ctypes, os, sys\n"
        "from app.engine.templates import child\n"
        "answer = child._answer\n"
        "def chatty(request):\n"
        "    print('from Python', flush=True)\n"
        "    os.write(1, b'straight to 1\\n')\n"
        "    libc = ctypes.CDLL(None)\n"
        "    libc.puts(b'from C'); libc.fflush(None)\n"
        "    return answer(request)\n"
        "child._answer = chatty\n"
        "sys.exit(child.main())"
    )
    with TemplateRenderer(command=[sys.executable, "-c", command]) as renderer:
        assert renderer.render("fine {{ n }}", {"n": 1}) == "fine 1"
        assert renderer.render("fine {{ n }}", {"n": 2}) == "fine 2"


def test_the_child_loads_no_heavy_module() -> None:
    code = (
        "import sys, app.engine.templates.child\n"
        "heavy = {'PySide6', 'llama_cpp', 'numpy', 'msgspec', 'psutil'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE_S)


def test_it_is_found_from_any_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    with TemplateRenderer() as renderer:
        assert renderer.render("fine", {}) == "fine"


def test_a_built_program_calls_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert argv() == [sys.executable, "--template-child"]
