"""Named chat formats for files that carry no usable template of their own.

Each is a small Jinja template, so that one path renders them all. They expect what
`app.engine.templates.prompt` makes of a conversation: turns that alternate, a system message (if
the format has one) only at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

__all__ = ["BUILTIN_TEMPLATES", "BuiltinTemplate", "fallback_for"]


@dataclass(frozen=True, slots=True)
class BuiltinTemplate:
    """A chat format.

    Attributes:
        name: what settings and notices call it.
        title: what people call it.
        source: the template.
        turn_end: text after a reply; empty where the end-of-text token ends one, if anything does.
        stops: texts, unmistakable anywhere in a reply, with which a model that missed its end
            goes on to speak for somebody else.
        tokens: special tokens which, all in a vocabulary, tell that a model was trained on it.
    """

    name: str
    title: str
    source: str
    turn_end: str
    stops: tuple[str, ...]
    tokens: tuple[str, ...] = ()


_CHATML: Final = """\
{%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}
"""

_LLAMA_2: Final = """\
{%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set ns.system = '<<SYS>>\\n' + message.content + '\\n<</SYS>>\\n\\n' -%}
{%- elif message.role == 'user' -%}
{{ bos_token + '[INST] ' + ns.system + message.content + ' [/INST]' }}
{%- set ns.system = '' -%}
{%- else -%}
{{ ' ' + message.content + ' ' + eos_token }}
{%- endif -%}
{%- endfor -%}
"""

_LLAMA_3: Final = """\
{{- bos_token -}}
{%- for message in messages -%}
{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' }}
{{- message.content + '<|eot_id|>' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif -%}
"""

_GEMMA: Final = """\
{{- bos_token -}}
{%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set ns.system = message.content + '\\n\\n' -%}
{%- else -%}
{%- set role = 'model' if message.role == 'assistant' else 'user' -%}
{{ '<start_of_turn>' + role + '\\n' + ns.system + message.content + '<end_of_turn>\\n' }}
{%- set ns.system = '' -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\\n' }}{%- endif -%}
"""

_MISTRAL: Final = """\
{{- bos_token -}}
{%- set ns = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set ns.system = message.content + '\\n\\n' -%}
{%- elif message.role == 'user' -%}
{{ '[INST] ' + ns.system + message.content + ' [/INST]' }}
{%- set ns.system = '' -%}
{%- else -%}
{{ ' ' + message.content + eos_token }}
{%- endif -%}
{%- endfor -%}
"""

_PHI_3: Final = """\
{{- bos_token -}}
{%- for message in messages -%}
{{ '<|' + message.role + '|>\\n' + message.content + '<|end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|assistant|>\\n' }}{%- endif -%}
"""

_ZEPHYR: Final = """\
{%- for message in messages -%}
{{ '<|' + message.role + '|>\\n' + message.content + eos_token + '\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|assistant|>\\n' }}{%- endif -%}
"""

_VICUNA: Final = """\
{{- bos_token -}}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{{ message.content + '\\n\\n' }}
{%- elif message.role == 'user' -%}
{{ 'USER: ' + message.content + '\\n' }}
{%- else -%}
{{ 'ASSISTANT: ' + message.content + eos_token + '\\n' }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ 'ASSISTANT:' }}{%- endif -%}
"""

_ALPACA: Final = """\
{{- bos_token -}}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{{ message.content + '\\n\\n' }}
{%- elif message.role == 'user' -%}
{{ '### Instruction:\\n' + message.content + '\\n\\n' }}
{%- else -%}
{{ '### Response:\\n' + message.content + eos_token + '\\n\\n' }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '### Response:\\n' }}{%- endif -%}
"""

_COMMAND_R: Final = """\
{{- bos_token -}}
{%- set names = {'system': 'SYSTEM', 'user': 'USER', 'assistant': 'CHATBOT'} -%}
{%- for message in messages -%}
{{ '<|START_OF_TURN_TOKEN|><|' + names[message.role] + '_TOKEN|>' }}
{{- message.content + '<|END_OF_TURN_TOKEN|>' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}
{%- endif -%}
"""

_DEEPSEEK: Final = """\
{{- bos_token -}}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{{ message.content }}
{%- elif message.role == 'user' -%}
{{ '<｜User｜>' + message.content }}
{%- else -%}
{{ '<｜Assistant｜>' + message.content + '<｜end▁of▁sentence｜>' }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<｜Assistant｜>' }}{%- endif -%}
"""

# A base model goes on writing: a reply follows its text directly, the next text on a new line.
_PLAIN: Final = """\
{{- bos_token -}}
{%- for message in messages -%}
{%- if not loop.first and message.role != 'assistant' -%}{{ '\\n' }}{%- endif -%}
{{ message.content }}
{%- endfor -%}
"""

_ALL: Final = (
    BuiltinTemplate(
        "chatml",
        "ChatML",
        _CHATML,
        "<|im_end|>",
        ("<|im_end|>", "<|im_start|>"),
        ("<|im_start|>", "<|im_end|>"),
    ),
    BuiltinTemplate(
        "llama-3",
        "Llama 3",
        _LLAMA_3,
        "<|eot_id|>",
        ("<|eot_id|>", "<|start_header_id|>"),
        ("<|start_header_id|>", "<|eot_id|>"),
    ),
    BuiltinTemplate(
        "gemma",
        "Gemma",
        _GEMMA,
        "<end_of_turn>",
        ("<end_of_turn>", "<start_of_turn>"),
        ("<start_of_turn>", "<end_of_turn>"),
    ),
    BuiltinTemplate(
        "command-r",
        "Command R",
        _COMMAND_R,
        "<|END_OF_TURN_TOKEN|>",
        ("<|END_OF_TURN_TOKEN|>", "<|START_OF_TURN_TOKEN|>"),
        ("<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
    ),
    BuiltinTemplate(
        "deepseek",
        "DeepSeek",
        _DEEPSEEK,
        "<｜end▁of▁sentence｜>",
        ("<｜end▁of▁sentence｜>", "<｜User｜>"),
        ("<｜User｜>", "<｜Assistant｜>"),
    ),
    BuiltinTemplate(
        "phi-3",
        "Phi-3",
        _PHI_3,
        "<|end|>",
        ("<|end|>", "<|user|>", "<|system|>"),
        ("<|user|>", "<|assistant|>", "<|end|>"),
    ),
    BuiltinTemplate(
        "zephyr",
        "Zephyr",
        _ZEPHYR,
        "",
        ("<|user|>", "<|system|>"),
        ("<|user|>", "<|assistant|>"),
    ),
    BuiltinTemplate("mistral", "Mistral", _MISTRAL, "", ("[INST]",), ("[INST]", "[/INST]")),
    BuiltinTemplate("llama-2", "Llama 2", _LLAMA_2, "", ("[INST]", "<<SYS>>")),
    BuiltinTemplate("vicuna", "Vicuna", _VICUNA, "", ()),
    BuiltinTemplate("alpaca", "Alpaca", _ALPACA, "", ()),
    BuiltinTemplate("plain", "plain completion", _PLAIN, "", ()),
)

BUILTIN_TEMPLATES: Final[Mapping[str, BuiltinTemplate]] = MappingProxyType(
    {template.name: template for template in _ALL}
)
# Spelled out in plain words, so a model without any chat tokens can follow it.
_LAST_RESORT: Final = "vicuna"


def fallback_for(known_tokens: Callable[[str], bool]) -> BuiltinTemplate:
    """Return the format whose special tokens a vocabulary has, else one that needs none."""
    for template in _ALL:
        if template.tokens and all(known_tokens(token) for token in template.tokens):
            return template
    return BUILTIN_TEMPLATES[_LAST_RESORT]
