from __future__ import annotations

import pytest

from app.engine.backend import load_log
from app.engine.protocol import EngineBuffer

LOG = """\
load_tensors: offloading output layer to GPU
load_tensors: offloaded 20/33 layers to GPU
load_tensors:   CPU_Mapped model buffer size =    93.48 MiB
load_tensors:        CUDA0 model buffer size =  4403.49 MiB
llama_kv_cache:        CPU KV buffer size =   180.00 MiB
llama_memory_recurrent:        CPU RS buffer size =     3.28 MiB
sched_reserve:      CUDA0 compute buffer size =   101.25 MiB
llama_context:        CPU  output buffer size =     0.19 MiB
""".splitlines()


def test_buffers_are_read_by_device_and_kind() -> None:
    mib = 1024 * 1024
    assert load_log.buffers(LOG) == (
        EngineBuffer(device="CPU_Mapped", what="weights", size_bytes=round(93.48 * mib)),
        EngineBuffer(device="CUDA0", what="weights", size_bytes=round(4403.49 * mib)),
        EngineBuffer(device="CPU", what="kv", size_bytes=180 * mib),
        EngineBuffer(device="CPU", what="state", size_bytes=round(3.28 * mib)),
        EngineBuffer(device="CUDA0", what="compute", size_bytes=round(101.25 * mib)),
        EngineBuffer(device="CPU", what="output", size_bytes=round(0.19 * mib)),
    )


def test_layers_and_flash_attention() -> None:
    assert load_log.layers_offloaded(LOG) == (20, 33)
    assert load_log.layers_offloaded(["nothing"]) is None
    assert load_log.flash_attention(LOG)
    assert not load_log.flash_attention(
        ["resolve_fused_ops: Flash Attention not supported, set to disabled"]
    )


@pytest.mark.parametrize(
    "line",
    [
        "ggml_backend_cuda_buffer_type_alloc_buffer: cudaMalloc failed: out of memory",
        "ggml_vulkan: memory allocation failed: vk::Device: ErrorOutOfDeviceMemory",
        "llama_kv_cache: failed to allocate buffer for kv cache",
        "alloc_tensor_range: failed to allocate CPU buffer of size 1",
    ],
)
def test_a42_shortage_of_memory_is_recognised(line: str) -> None:
    assert load_log.ran_out_of_memory(line)
    assert not load_log.ran_out_of_memory("llama_model_load: error loading model: bad magic")


def test_causes_are_found() -> None:
    told = "llama_model_loader: - kv  19:  tokenizer.ggml.unknown_token_id u32  = 0"
    lines = [
        "print_info: UNK token = 0 'unknown'",
        told,
        "llama_model_load: error loading model: missing tensor 'x'",
    ]
    assert load_log.error_lines(lines) == lines[2:]


def test_buffers_of_servers_are_called_by_their_devices() -> None:
    names = {"RPC0[10.0.0.6:1]": "RPC1"}
    (one,) = load_log.buffers(
        ["load_tensors: RPC0[10.0.0.6:1] model buffer size =    92.10 MiB"], names
    )
    assert (one.device, one.what) == ("RPC1", "weights")
    line = (
        "alloc_tensor_range: failed to allocate RPC0[10.0.0.6:1] buffer of size 96571392",
        "llama_model_load: error loading model: unable to allocate RPC0[10.0.0.6:1] buffer",
    )
    assert load_log.refused(line, names) == ("RPC1", 96571392)
    assert load_log.refused(line) == ("RPC0[10.0.0.6:1]", 96571392)
    assert load_log.refused(["all is well"]) is None
