"""Loading: from a path and options to a model, or to one sentence that says why not."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.engine.backend import load_log
from app.engine.backend.context import (
    Settled,
    context_parameters,
    model_parameters,
    settle,
    without_quantised_cache,
)
from app.engine.backend.dry_run import dry_run
from app.engine.backend.library import AbortFlag, NativeLog, devices, engine_name, lib
from app.engine.backend.loading import load_backends
from app.engine.backend.model import LlamaModel, memory_kind, metadata
from app.engine.backend.vocab import LlamaVocabulary
from app.engine.interface import Aborted, DryRunResult, EngineFailure
from app.engine.protocol import DeviceInfo, LoadOptions, ModelInfo
from gguf_tools.naming import parse_file_name

__all__ = ["LlamaEngine"]

_MEMORY_ADVICE = (
    "Use a smaller context",
    "Put fewer layers on the GPU",
    "Use a smaller KV cache type",
    "Choose a smaller variant of the model",
)


class LlamaEngine:
    """`Engine` over llama.cpp. One in a process."""

    def __init__(self) -> None:
        self._log = NativeLog()
        variant = load_backends()
        lib.llama_backend_init()
        self.name = engine_name() if variant is None else f"{engine_name()} · {variant}"
        self.system_info = lib.llama_print_system_info().decode("utf-8", "replace").strip(" |")

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Return devices with their memory as of now."""
        return devices()

    def last_words(self) -> str:
        """Return the last lines of llama.cpp's log."""
        return "\n".join(self._log.lines()[-40:])

    def dry_run(self, path: str, options: LoadOptions) -> DryRunResult:
        """Return what a load would allocate. See `Engine.dry_run`."""
        return dry_run(self._log, path, options)

    def load(
        self, path: str, options: LoadOptions, progress: Callable[[float], bool]
    ) -> LlamaModel:
        """Load a model. See `Engine.load`."""
        self._log.start()
        started = time.monotonic()
        given_up = False

        def on_progress(fraction: float, _user_data: object) -> bool:
            nonlocal given_up
            given_up = not progress(fraction)
            return not given_up

        callback = lib.llama_progress_callback(on_progress)
        if not Path(path).is_file():
            raise EngineFailure("bad_model", f"There is no file {path}.")
        model = lib.llama_model_load_from_file(
            path.encode("utf-8", "surrogateescape"), model_parameters(options, callback)
        )
        if given_up:
            if model:
                lib.llama_model_free(model)
            raise Aborted
        if not model:
            raise self._load_failure("The model can't be loaded.")
        try:
            return self._with_context(model, path, options, started, progress)
        except BaseException:
            lib.llama_model_free(model)
            raise

    def _with_context(
        self,
        model: Any,
        path: str,
        options: LoadOptions,
        started: float,
        progress: Callable[[float], bool],
    ) -> LlamaModel:
        settled = settle(options, lib.llama_model_n_ctx_train(model))
        flag = AbortFlag()
        context = lib.llama_init_from_model(model, context_parameters(settled, flag))
        if not context:
            plainer = without_quantised_cache(settled)
            if plainer is None or load_log.ran_out_of_memory(self.last_words()):
                raise self._load_failure("The context can't be made.")
            settled = plainer
            context = lib.llama_init_from_model(model, context_parameters(settled, flag))
            if not context:
                raise self._load_failure("The context can't be made.")
        try:
            vocab = LlamaVocabulary(model)
            if not progress(1.0):
                raise Aborted
            self._warm_up(model, context)
            info = self._describe(model, context, path, settled, started)
            return LlamaModel(
                model, context, vocab, info, metadata(model, "tokenizer.chat_template"), flag
            )
        except BaseException:
            lib.llama_free(context)
            raise

    def _warm_up(self, model: Any, context: Any) -> None:
        """Evaluate two tokens: pages weights in, and an instruction that this processor does not
        have ends the worker here, at load, where nothing is lost.
        """
        vocab = lib.llama_model_get_vocab(model)
        wanted = (lib.llama_vocab_bos(vocab), lib.llama_vocab_eos(vocab))
        tokens = [max(token, 0) for token in wanted]
        array = (lib.llama_token * len(tokens))(*tokens)
        lib.llama_set_warmup(context, True)
        lib.llama_decode(context, lib.llama_batch_get_one(array, len(tokens)))
        lib.llama_memory_clear(lib.llama_get_memory(context), True)
        lib.llama_synchronize(context)
        lib.llama_set_warmup(context, False)

    def _describe(
        self, model: Any, context: Any, path: str, settled: Settled, started: float
    ) -> ModelInfo:
        lines = self._log.lines()
        options = settled.options
        layers = lib.llama_model_n_layer(model)
        offloaded, total = load_log.layers_offloaded(lines) or (0, layers + 1)
        flash = options.flash_attention != "off" and load_log.flash_attention(lines)
        found = devices()
        if not any(device.kind in {"gpu", "igpu"} for device in found):
            offloaded = 0  # the log counts layers as offloaded even where there is no GPU
        notices = list(settled.notices)
        if options.gpu_layers > 0 and offloaded < min(options.gpu_layers, total):
            reason = (
                "this engine build or computer has no GPU that llama.cpp can use"
                if offloaded == 0
                else "the rest did not fit"
            )
            notices.append(
                f"{options.gpu_layers} layers were asked onto the GPU, {offloaded} of {total} "
                f"are there: {reason}."
            )
        name = _display_name(path, metadata(model, "general.name"))
        description = _text(lib.llama_model_desc, model)
        return ModelInfo(
            path=path,
            name=name,
            architecture=metadata(model, "general.architecture") or "",
            description=description,
            size_bytes=lib.llama_model_size(model),
            parameters=lib.llama_model_n_params(model),
            n_ctx=lib.llama_n_ctx(context),
            n_ctx_train=lib.llama_model_n_ctx_train(model),
            n_batch=lib.llama_n_batch(context),
            n_ubatch=lib.llama_n_ubatch(context),
            n_vocab=lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model)),
            layers=layers,
            layers_offloaded=offloaded,
            layers_total=total,
            type_k=options.type_k,
            type_v=options.type_v,
            flash_attention=flash,
            swa_window=lib.llama_model_n_swa(model),
            swa_full=options.swa_full,
            mmap=options.mmap,
            threads=settled.threads,
            threads_batch=settled.threads_batch,
            compatibility=options.compatibility,
            sequences=options.sequences,
            memory=memory_kind(model, swa_full=options.swa_full),
            template="file",
            template_notice=None,
            thinking=False,
            devices=found,
            buffers=load_log.buffers(lines),
            load_s=time.monotonic() - started,
            notices=tuple(notices),
        )

    def _load_failure(self, sentence: str) -> EngineFailure:
        lines = self._log.lines()
        detail = "\n".join(lines[-40:])
        if load_log.ran_out_of_memory(detail):
            return EngineFailure(
                "out_of_memory",
                "There is not enough memory for this model with these settings.",
                _MEMORY_ADVICE,
                detail,
            )
        causes = self._log.errors() or load_log.error_lines(lines)
        if causes:
            sentence = f"{sentence[:-1]}: {_plain(causes)}"
        return EngineFailure("bad_model", sentence, (), detail)


def _plain(causes: list[str]) -> str:
    """Return the most telling cause without the name of the C++ function that logged it."""
    first = causes[0]
    head, separator, rest = first.partition(": ")
    text = rest if separator and " " not in head else first
    return text.strip().rstrip(".") + "."


def _display_name(path: str, general_name: str | None) -> str:
    """Return what people call a model: its file's name without the quantisation.

    ``general.name`` is often the name of a training run; it stands in where the file is a blob
    that is named by its hash.
    """
    base = parse_file_name(Path(path).name).base
    if general_name and (not base or base.startswith("sha256")):
        return general_name
    return base or Path(path).stem


def _text(function: Any, model: Any) -> str:
    import ctypes

    buffer = ctypes.create_string_buffer(256)
    function(model, buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace")
