"""What llama.cpp really took of a model's settings, as the load settings dialog shows it."""

from __future__ import annotations

from app.engine.protocol import ModelInfo

__all__ = ["loaded_values"]


def loaded_values(model: ModelInfo) -> dict[str, str]:
    """Return a text for each setting of scope ``load`` that the engine reports."""
    flash = {True: "on", False: "off", None: ""}[model.flash_attention]
    return {
        "n_ctx": f"{model.n_ctx:,}",
        "type_k": model.type_k,
        "type_v": model.type_v,
        "gpu_layers": f"{model.layers_offloaded} / {model.layers_total}",
        "flash_attention": flash,
        "threads": str(model.threads),
        "threads_batch": str(model.threads_batch),
        "n_batch": str(model.n_batch),
        "n_ubatch": str(model.n_ubatch),
        "swa_full": ("on" if model.swa_full else "off") if model.swa_window else "",
        "compatibility": "on" if model.compatibility else "off",
        "template": model.template,
    }
