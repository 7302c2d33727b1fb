"""The header of a model: metadata and tensor list, over all the files of a split model.

``open_header`` is the door; it raises `HeaderError` and nothing else.
"""

from __future__ import annotations

from gguf_tools.header.errors import HeaderError, HeaderErrorKind
from gguf_tools.header.model import Header, Scalar, Tensor, Value
from gguf_tools.header.split import open_header

__all__ = [
    "Header",
    "HeaderError",
    "HeaderErrorKind",
    "Scalar",
    "Tensor",
    "Value",
    "open_header",
]
