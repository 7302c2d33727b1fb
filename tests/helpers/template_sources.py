"""Chat templates of the kinds that occur, and conversations to render with them."""

from __future__ import annotations

from app.engine.protocol import ChatMessage
from app.engine.templates.builtin import BUILTIN_TEMPLATES
from app.engine.templates.prompt import ChatTemplate
from app.engine.templates.renderer import TemplateRenderer

__all__ = ["CHATML", "OPENED", "SILENT", "STRICT", "THINKING", "messages", "template"]

CHATML = BUILTIN_TEMPLATES["chatml"].source

# refuses a system message and turns that do not alternate
STRICT = """
{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {{- raise_exception('System role not supported') }}
{%- endif %}
{%- for message in messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Conversation roles must alternate user/assistant/...') }}
    {%- endif %}
    {{- '<turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\\n' }}
    {{- message['content'] | trim + '</turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<turn>model\\n' }}{% endif %}
"""

# says nothing about a system message, it just never appears
SILENT = """
{%- for m in messages %}
    {%- if m.role == 'user' %}{{ 'Q: ' + m.content + '\\n' }}
    {%- elif m.role == 'assistant' %}{{ 'A: ' + m.content + '\\n' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ 'A:' }}{% endif %}
"""

# keeps reasoning of the newest reply, drops it from earlier ones, closes it by a switch
THINKING = """
{%- set ns = namespace(last=-1) %}
{%- for m in messages if m.role == 'user' %}
    {%- set ns.last = messages.index(m) %}
{%- endfor %}
{%- for m in messages %}
    {{- '<|im_start|>' + m.role + '\\n' }}
    {%- if m.role == 'assistant' and loop.index0 > ns.last %}
        {{- '<think>\\n' + (m.reasoning_content or '').strip('\\n') + '\\n</think>\\n\\n' }}
    {%- endif %}
    {{- m.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""

# opens the reasoning itself and leaves it out of earlier replies
OPENED = """
{%- for m in messages %}
    {%- if m.role == 'assistant' %}{{ '<|A|>' + m.content.split('</think>')[-1] + '<|end|>' }}
    {%- else %}{{ '<|U|>' + m.content }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|A|><think>\\n' }}{% endif %}
"""


def template(
    renderer: TemplateRenderer, source: str | None, name: str | None = None
) -> ChatTemplate:
    return ChatTemplate(source, name, "<s>", "</s>", renderer)


def messages(*turns: tuple[str, str] | tuple[str, str, str]) -> list[ChatMessage]:
    roles = {"s": "system", "u": "user", "a": "assistant"}
    return [
        ChatMessage(
            id=str(number),
            role=roles[turn[0]],  # type: ignore[arg-type]
            content=turn[1],
            reasoning=turn[2] if len(turn) == 3 else None,
        )
        for number, turn in enumerate(turns)
    ]
