"""llama.cpp itself with tiny models: templates, options and files as they come."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine.protocol import (
    Done,
    Failed,
    LoadOptions,
)
from tests.helpers.engine import BlockingDriver, answer_of, chat, turn
from tests.helpers.real_engine import load_tiny, rendered
from tests.helpers.tiny_gguf import CHATML, TinyModel, write_tiny_model

# --- templates (A09, A27 to A30) -------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "words"),
    [
        (None, "no chat template"),
        ("", "no chat template"),
        ("{% unknowntag %}", "unknown"),
        ("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", "s"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "format is used instead"),
    ],
)
def test_a09_a29_a30_models_load_whatever_their_template(
    template: str | None, words: str, driver: BlockingDriver, tmp_path: Path
) -> None:
    path = write_tiny_model(
        tmp_path / "m.gguf", TinyModel(template=template, script=(" fine", "<|im_end|>"))
    )
    info = driver.client.load(str(path))
    assert info.template == "chatml"
    assert info.template_notice is not None
    assert words in info.template_notice
    text, _, _ = answer_of(turn(driver, chat("Hello", system="Be brief")))
    assert text == " fine"


def test_a27_system_text_reaches_models_without_a_system_role(
    driver: BlockingDriver, tmp_path: Path
) -> None:
    template = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
        + CHATML
    )
    load_tiny(driver, tmp_path, TinyModel(template=template))
    prompt = rendered(driver.client, chat("Hello", system="Only French"))
    assert "Only French" in prompt.text
    assert "<|im_start|>system" not in prompt.text


def test_template_can_be_overruled(driver: BlockingDriver, tmp_path: Path) -> None:
    load_tiny(driver, tmp_path, TinyModel(), LoadOptions(template="llama-2"))
    assert "[INST]" in rendered(driver.client, chat("Hello")).text


# --- options ---------------------------------------------------------------------------------


def test_a16_quantised_v_cache_turns_flash_attention_on_and_says_so(
    driver: BlockingDriver, tmp_path: Path
) -> None:
    path = write_tiny_model(tmp_path / "m.gguf", TinyModel(head_length=32, embedding=128))
    info = driver.client.load(
        str(path), LoadOptions(type_k="q8_0", type_v="q8_0", flash_attention="off")
    )
    assert info.flash_attention is True
    assert info.type_v == "q8_0"
    assert any("Flash attention was turned on" in notice for notice in info.notices)
    assert isinstance(turn(driver, chat("Hello"), max_tokens=2)[-1], Done)


def test_a16_cache_type_that_this_model_refuses_falls_back(
    driver: BlockingDriver, tmp_path: Path
) -> None:
    path = write_tiny_model(tmp_path / "m.gguf", TinyModel(head_length=16))
    info = driver.client.load(str(path), LoadOptions(type_k="q8_0", type_v="q8_0"))
    if info.type_k == "q8_0":
        pytest.skip("this llama.cpp takes q8_0 for heads of 16")
    assert info.type_k == info.type_v == "f16"
    assert any("refused" in notice for notice in info.notices)
    assert isinstance(turn(driver, chat("Hello"), max_tokens=2)[-1], Done)


def test_a38_asked_for_a_gpu_and_got_none(driver: BlockingDriver, tmp_path: Path) -> None:
    assert driver.client.hello is not None
    if any(device.kind != "cpu" for device in driver.client.hello.devices):
        pytest.skip("this computer has a GPU")
    path = write_tiny_model(tmp_path / "m.gguf")
    info = driver.client.load(str(path), LoadOptions(gpu_layers=99))
    assert info.layers_offloaded == 0
    assert any("GPU" in notice for notice in info.notices)


def test_settings_that_are_used_are_reported(driver: BlockingDriver, tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "m.gguf", TinyModel(context=2048))
    info = driver.client.load(
        str(path), LoadOptions(n_ctx=1000, n_batch=4096, n_ubatch=2048, mmap=False, threads=512)
    )
    assert info.n_ctx == 1024
    assert (info.n_batch, info.n_ubatch) == (1024, 1024)
    assert info.threads < 512
    assert any("threads" in notice for notice in info.notices)
    assert {buffer.what for buffer in info.buffers} >= {"weights", "kv", "compute", "output"}
    beyond = driver.client.load(str(path), LoadOptions(n_ctx=4096))
    assert any("trained" in notice for notice in beyond.notices)


def test_a08_paths_of_any_letters(driver: BlockingDriver, tmp_path: Path) -> None:
    folder = tmp_path / "日本 語 é" / "👩\u3000x"
    folder.mkdir(parents=True)
    path = write_tiny_model(folder / "モデル 1.gguf")
    assert driver.client.load(str(path)).path == str(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "empty"), (b"hello there", "not a GGUF"), (b"version https://git-lfs", "LFS")],
)
def test_files_that_are_no_models_are_refused_in_words(
    content: bytes, words: str, driver: BlockingDriver, tmp_path: Path
) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    failed = driver.load(path)
    assert isinstance(failed, Failed)
    assert failed.kind == "bad_model"
    assert words in failed.message
