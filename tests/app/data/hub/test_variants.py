from __future__ import annotations

import pytest

from app.data.hub.errors import HubError
from app.data.hub.values import Listing, RemoteFile
from app.data.hub.variants import Reference, choose, group, parse_reference


def listing(*paths: str) -> Listing:
    files = [RemoteFile(path=path, size_bytes=100 + n) for n, path in enumerate(paths)]
    return Listing(repository="o/n", revision="c", variants=group(files))


def test_parts_are_one_variant_and_others_stay_out() -> None:
    found = listing(
        "README.md",
        "M-Q8_0.gguf",
        "Q2/M-BF16-00002-of-00002.gguf",
        "Q2/M-BF16-00001-of-00002.gguf",
        "mmproj-M-F16.gguf",
        "M-F32-00001-of-00003.gguf",
        "imatrix.dat",
    ).variants
    told = [(item.quantization, len(item.files), item.projector, item.missing) for item in found]
    assert told == [
        ("Q8_0", 1, False, 0),
        ("F32", 1, False, 2),
        ("BF16", 2, False, 0),
        ("F16", 1, True, 0),
    ]
    assert found[2].key == "Q2/M-BF16-00001-of-00002.gguf"
    assert found[2].size_bytes == 205


def test_a_folder_names_the_quantisation_where_the_file_does_not() -> None:
    [variant] = listing("Q4_K_M/model.gguf").variants
    assert variant.quantization == "Q4_K_M"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("owner/name", Reference("owner/name")),
        (" owner/name:q4_k_m ", Reference("owner/name", quantization="q4_k_m")),
        ("https://huggingface.co/owner/name", Reference("owner/name")),
        ("huggingface.co/owner/name/tree/main", Reference("owner/name")),
        ("hf://owner/name", Reference("owner/name")),
        (
            "https://huggingface.co/o/n/blob/main/a/b.gguf?download=true",
            Reference("o/n", "a/b.gguf"),
        ),
        ("qwen small", None),
        ("qwen", None),
        ("a/b/c", None),
        ("", None),
    ],
)
def test_references(text: str, meant: Reference | None) -> None:
    assert parse_reference(text) == meant


def test_choosing_by_name_quantisation_or_being_alone() -> None:
    several = listing("M-Q4_0.gguf", "sub/M-Q8_0.gguf", "mmproj-M-Q8_0.gguf")
    assert choose(several, Reference("o/n", "M-Q8_0.gguf")).key == "sub/M-Q8_0.gguf"
    assert choose(several, Reference("o/n", quantization="q8_0")).key == "sub/M-Q8_0.gguf"
    assert choose(several, Reference("o/n", "mmproj-M-Q8_0.gguf")).projector
    assert choose(listing("M-Q4_0.gguf", "mmproj.gguf"), Reference("o/n")).key == "M-Q4_0.gguf"
    with pytest.raises(HubError, match=r"several: name the file\. There is: M-Q4_0\.gguf, M-Q8_0"):
        choose(several, Reference("o/n"))
    with pytest.raises(HubError, match=r"has no Q5_K_M\. There is: M-Q4_0"):
        choose(several, Reference("o/n", quantization="Q5_K_M"))
    with pytest.raises(HubError, match=r"o/n has no GGUF model\.$"):
        choose(listing("README.md"), Reference("o/n"))
