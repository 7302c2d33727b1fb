"""Loads a model with what belongs to it: its chat template, and a draft model if asked for."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from app.engine.check import file_problem
from app.engine.drafting import Draft, mismatch
from app.engine.interface import Engine, EngineFailure, EngineModel
from app.engine.loaded import LoadedModel
from app.engine.protocol import Load, LoadOptions, ModelInfo
from app.engine.refusals import check_options
from app.engine.templates.prompt import ChatTemplate
from app.engine.templates.renderer import TemplateRenderer

__all__ = ["check_file", "load_model", "with_template"]


def check_file(path: str) -> None:
    """Refuse what is no model file before llama.cpp sees it."""
    problem = file_problem(path)
    if problem is not None:
        raise EngineFailure("bad_model", problem)


def load_model(
    engine: Engine,
    request: Load,
    renderer: TemplateRenderer,
    progress: Callable[[float], bool],
) -> tuple[LoadedModel, ModelInfo]:
    """Return a loaded model, and what is told of it; ``progress`` as in `Engine.load`.

    Raises:
        Aborted: ``progress`` returned False.
        EngineFailure: it can't be loaded.
    """
    check_options(request.options)
    check_file(request.path)
    options = request.options
    if options.draft is not None:
        rows = max(options.outputs or 0, options.draft_tokens + 1)
        options = msgspec.structs.replace(options, outputs=rows)
    model = engine.load(request.path, options, progress)
    draft: Draft | None = None
    try:
        draft, refused = _load_draft(engine, model, options, progress)
        vocab = model.vocab
        template = ChatTemplate(
            model.template_source,
            request.options.template,
            vocab.bos_text,
            vocab.eos_text,
            renderer,
            known_tokens=lambda text: text in vocab.specials or text in vocab.user_defined,
        )
        loaded = LoadedModel(model, template, draft)
    except BaseException:
        if draft is not None:
            draft.close()
        model.close()
        raise
    info = with_template(model.info, template)
    if draft is not None:
        info = msgspec.structs.replace(
            info, draft=draft.model.info.name, notices=(*info.notices, draft.cost)
        )
    elif refused is not None:
        info = msgspec.structs.replace(info, notices=(*info.notices, refused))
    return loaded, info


def with_template(info: ModelInfo, template: ChatTemplate) -> ModelInfo:
    """Return what is known of a model, with its chat template."""
    return msgspec.structs.replace(
        info,
        template=template.used,
        template_notice=template.notice,
        thinking=template.thinking,
    )


def _load_draft(
    engine: Engine,
    model: EngineModel,
    options: LoadOptions,
    progress: Callable[[float], bool],
) -> tuple[Draft | None, str | None]:
    """Return the draft model, or a sentence why there is none: the chat goes on without."""
    if options.draft is None:
        return None, None
    problem = file_problem(options.draft)
    if problem is not None:
        return None, f"No draft model is used: {problem}"
    own = msgspec.structs.replace(
        options, n_ctx=model.info.n_ctx, draft=None, sequences=1, outputs=None, template=None
    )
    try:
        small = engine.load(options.draft, own, progress)
    except EngineFailure as failure:
        return None, f"No draft model is used: {failure.message}"
    refused = mismatch(model, small)
    if refused is not None:
        small.close()
        return None, f"No draft model is used: {refused}"
    return Draft(small, options.draft_tokens), None
