"""Loading: from a path and options to a model, or to one sentence that says why not."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.engine.backend import load_log
from app.engine.backend.context import (
    Settled,
    context_parameters,
    model_parameters,
    settle,
    without_quantised_cache,
)
from app.engine.backend.dry_run import dry_run
from app.engine.backend.fewer import fewer_layers
from app.engine.backend.library import AbortFlag, NativeLog, devices, engine_name, lib
from app.engine.backend.loading import load_backends
from app.engine.backend.model import LlamaModel, memory_kind, metadata
from app.engine.backend.placing import Placing, place
from app.engine.backend.quantize import quantize
from app.engine.backend.remote import Remotes, keep_alive
from app.engine.backend.repacking import repack
from app.engine.backend.retuning import Contexts
from app.engine.backend.vocab import LlamaVocabulary
from app.engine.interface import Aborted, DryRunResult, EngineFailure, QuantizeJob
from app.engine.protocol import DeviceInfo, LoadOptions, ModelInfo, RemoteInfo
from gguf_tools.naming import own_name, shown_name
from gguf_tools.units import counted, format_bytes

__all__ = ["LlamaEngine"]

_GEMM_TOKENS = 8  # few enough, and more than kernels for single vectors take
_MEMORY_ADVICE = (
    "Use a smaller context",
    "Put fewer layers on the GPU",
    "Use a smaller KV cache type",
    "Choose a smaller variant of the model",
)


class LlamaEngine:
    """`Engine` over llama.cpp. One in a process. ``endpoints`` are RPC servers to use."""

    def __init__(self, endpoints: Sequence[str] = ()) -> None:
        self._log = NativeLog()
        variant = load_backends()
        lib.llama_backend_init()
        self.name = engine_name() if variant is None else f"{engine_name()} · {variant}"
        self.system_info = lib.llama_print_system_info().decode("utf-8", "replace").strip(" |")

        self._remotes = Remotes(endpoints)
        self._held: LlamaModel | None = None
        self._in_use: frozenset[str] = frozenset()  # devices that a model lies on

    @property
    def remotes(self) -> tuple[RemoteInfo, ...]:
        """Return the servers that were to be used."""
        return self._remotes.infos

    def clock(self) -> float:
        """Return the time. See `Engine.clock`."""
        return time.perf_counter()

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Return devices with their memory as of now; of idle ones elsewhere as heard last."""
        self._let_go()
        known = self._remotes.devices
        idle = {name: device for name, device in known.items() if name not in self._in_use}
        return self._remotes.heard(devices(idle))

    def last_words(self) -> str:
        """Return the last lines of llama.cpp's log."""
        return "\n".join(self._log.lines()[-40:])

    def dry_run(self, path: str, options: LoadOptions) -> DryRunResult:
        """Return what a load would allocate. See `Engine.dry_run`."""
        return dry_run(self._log, path, options, self._place(options))

    def quantize(self, job: QuantizeJob, on_tensor: Callable[[int, int], None]) -> None:
        """Write a variant of a file. See `Engine.quantize`."""
        quantize(self._log, job, on_tensor)

    def load(
        self, path: str, options: LoadOptions, progress: Callable[[float], bool]
    ) -> LlamaModel:
        """Load a model. See `Engine.load`."""
        if not Path(path).is_file():
            raise EngineFailure("bad_model", f"There is no file {path}.")
        started = time.monotonic()
        placing = self._place(options)
        asked, short = options, ""
        while True:
            self._in_use = frozenset(placing.names)
            try:
                model = self._load(path, options, placing, progress)
                break
            except BaseException as error:
                self._in_use = frozenset()
                fewer = self._fewer(error, path, options, placing)
                if fewer is None:
                    raise
            options, reason = fewer
            short = short or reason
        self._held = model
        model.info = self._with_placing(model.info, placing, asked, short, started)
        return model

    def _load(
        self,
        path: str,
        options: LoadOptions,
        placing: Placing,
        progress: Callable[[float], bool],
    ) -> LlamaModel:
        self._log.start()
        given_up = watched = False

        def on_progress(fraction: float, _user_data: object) -> bool:
            nonlocal given_up, watched
            if not watched:
                watched = True
                keep_alive(placing.endpoints)
            given_up = not progress(fraction)
            return not given_up

        parameters = model_parameters(options, lib.llama_progress_callback(on_progress))
        placing.apply(parameters)
        repacked = (
            options.compatibility
            and options.repack
            and not placing.devices
            and repack(parameters, path, self.system_info)
        )
        model = lib.llama_model_load_from_file(path.encode("utf-8", "surrogateescape"), parameters)
        if given_up:
            if model:
                lib.llama_model_free(model)
            raise Aborted
        if not model:
            raise self._load_failure("The model can't be loaded.")
        try:
            made = self._with_context(model, path, options, progress, repacked=repacked)
            made.info = msgspec.structs.replace(made.info, repacked=repacked)
            return made
        except BaseException:
            lib.llama_model_free(model)
            raise

    def _with_context(
        self,
        model: Any,
        path: str,
        options: LoadOptions,
        progress: Callable[[float], bool],
        *,
        repacked: bool,
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
            self._warm_up(model, context, _GEMM_TOKENS if repacked else 2)
            info = self._describe(model, context, path, settled)
            return LlamaModel(
                model,
                context,
                vocab,
                info,
                metadata(model, "tokenizer.chat_template"),
                settled,
                Contexts(self._log, self._remotes.buffer_names, flag),
            )
        except BaseException:
            lib.llama_free(context)
            raise

    def _warm_up(self, model: Any, context: Any, count: int) -> None:
        """Evaluate some tokens: pages weights in, and an instruction that this processor does not
        have ends the worker here, at load, where nothing is lost.
        """
        vocab = lib.llama_model_get_vocab(model)
        wanted = (lib.llama_vocab_bos(vocab), lib.llama_vocab_eos(vocab))
        tokens = [max(wanted[index % 2], 0) for index in range(count)]
        array = (lib.llama_token * len(tokens))(*tokens)
        lib.llama_set_warmup(context, True)
        lib.llama_decode(context, lib.llama_batch_get_one(array, len(tokens)))
        lib.llama_memory_clear(lib.llama_get_memory(context), True)
        lib.llama_synchronize(context)
        lib.llama_set_warmup(context, False)

    # --- devices

    def _place(self, options: LoadOptions) -> Placing:
        self._let_go()
        missing = self._remotes.missing(self._in_use)
        return place(options, self.devices(), missing)

    def _let_go(self) -> None:
        """Count the devices of a model that was freed as idle."""
        if self._held is not None and self._held.closed:
            self._held, self._in_use = None, frozenset()

    def _fewer(
        self, error: BaseException, path: str, options: LoadOptions, placing: Placing
    ) -> tuple[LoadOptions, str] | None:
        """Return options with fewer layers on devices that had no room, and why; else None."""
        if not isinstance(error, EngineFailure) or error.kind != "out_of_memory":
            return None
        refused = load_log.refused(self._log.lines(), self._remotes.buffer_names)
        if refused is None or refused[0] not in placing.names:
            return None  # main memory is short: fewer layers elsewhere would not help
        if self._remotes.missing():
            return None
        devices = {device.name: device for device in self.devices()}
        found = fewer_layers(path, options, [devices[name] for name in placing.names])
        if found is None:
            return None
        name, size_bytes = refused
        free = format_bytes(devices[name].free_bytes)
        reason = f"{name} has {free} free and refused a buffer of {format_bytes(size_bytes)}"
        if found.needed_bytes:
            needed = format_bytes(found.needed_bytes[placing.names.index(name)])
            reason = f"{name} has {free} free, and they would take {needed}"
        return msgspec.structs.replace(options, gpu_layers=found.layers), reason

    def _with_placing(
        self, info: ModelInfo, placing: Placing, asked: LoadOptions, short: str, started: float
    ) -> ModelInfo:
        total = info.layers_total
        everything = total if placing.devices else 0  # without a device nobody asks for any
        wanted = everything if asked.gpu_layers < 0 else min(asked.gpu_layers, total)
        # The log counts layers as offloaded even where there is no device for them.
        offloaded = info.layers_offloaded if placing.devices else 0
        notices = [*placing.notices, *info.notices]
        if short:
            where = " and ".join(placing.names)
            notices.append(
                f"{counted(wanted, 'layer')} {'was' if wanted == 1 else 'were'} asked onto "
                f"{where}, and {offloaded} of {total} fit: {short}."
            )
        elif asked.gpu_layers > 0 and offloaded < wanted:
            notices.append(
                f"{counted(asked.gpu_layers, 'layer')} "
                f"{'was' if asked.gpu_layers == 1 else 'were'} asked onto the GPU, {offloaded} of "
                f"{total} are there: this engine build or computer has no GPU that llama.cpp can "
                "use."
            )
        return msgspec.structs.replace(
            info,
            layers_offloaded=offloaded,
            layers_asked=wanted,
            devices=self.devices(),
            devices_used=placing.names if offloaded else (),
            notices=tuple(notices),
            load_s=time.monotonic() - started,
        )

    def _describe(self, model: Any, context: Any, path: str, settled: Settled) -> ModelInfo:
        lines = self._log.lines()
        options = settled.options
        layers = lib.llama_model_n_layer(model)
        offloaded, total = load_log.layers_offloaded(lines) or (0, layers + 1)
        flash = options.flash_attention != "off" and load_log.flash_attention(lines)
        file_name = Path(path).name
        name = shown_name(file_name, own_name(lambda key: metadata(model, key), file_name))
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
            devices=(),
            buffers=load_log.buffers(lines, self._remotes.buffer_names),
            load_s=0.0,
            notices=settled.notices,
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


def _text(function: Any, model: Any) -> str:
    import ctypes

    buffer = ctypes.create_string_buffer(256)
    function(model, buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace")
