"""A model nobody has a file of: typed as parameters, layers, KV heads, head size, quantisation.

From these few figures a header is made whose tensors add up to the parameters, so that a typed
model is planned by the very code that plans a file. What was not typed is filled in by the usual
proportions (those of the Llama 3 family for dense models) and named in ``assumed``.
"""

from gguf_tools.typed.facts import typed_basis, typed_facts
from gguf_tools.typed.model import TypedModel, TypedModelError
from gguf_tools.typed.types import QUANTIZATIONS

__all__ = ["QUANTIZATIONS", "TypedModel", "TypedModelError", "typed_basis", "typed_facts"]
