"""Conversations for the gallery, the tests and the benchmarks of the transcript."""

from __future__ import annotations

from app.ui.transcript.items import (
    AttachmentView,
    Figure,
    MessageView,
    NoticeAction,
)

__all__ = ["CODE_ANSWER", "MATH_ANSWER", "RICH_ANSWER", "conversation", "figures", "gallery"]

CODE_ANSWER = """Each layer keeps one key and one value vector per **KV head**. With grouped-query \
attention only 8 of the 32 heads store anything:

```python
def kv_bytes_per_token(layers, kv_heads, head_dim, bytes_per_value):
    return 2 * layers * kv_heads * head_dim * bytes_per_value

kv_bytes_per_token(32, 8, 128, 2)   # 131072 bytes = 128 KiB
```

So a 32K conversation costs **4 GiB**, and a full 128K window **16 GiB**, more than the quantised \
weights themselves."""

RICH_ANSWER = """## What the cache costs

A few things to know, *in order*:

1. The cache grows by the **same amount** for every token.
2. It is read once per token, so long chats decode slower:
   - weights: `8.0 GB` per token
   - cache: up to 2.7 GB
     - half of it keys
3. Quantising it saves memory:
   ```bash
   plimsoll plan model.gguf --kv-type q8_0 --ctx 32768
   ```

- [x] measured on this machine
- [ ] compared with ~~Q4_0~~ Q4_K_M

| Cache | Bits per value | KiB per token | At 32K |
|:------|:--------------:|--------------:|-------:|
| f16 | 16 | 128 | **4.0 GiB** |
| q8_0 | 8.5 | 68 | 2.1 GiB |
| q4_0 | 4.5 | 36 | 1.1 GiB |

> Text with `<think>` or vector<int> is shown, not swallowed.
> See https://example.org/kv-cache or [the notes](https://example.org/notes).

---

### Other scripts

日本語のテキストと絵文字 🙂👩‍👩‍👧 stay in line.

هذا سطر من اليمين إلى اليسار مع كلمة English في وسطه.

![A diagram](https://example.org/diagram.png)"""

MATH_ANSWER = r"""The cache holds $2\,L\,h_{kv}\,d$ values per token, where $L$ is the number of \
layers; it costs $5 and $10 in the shop. In bytes:

$$
M(n) = 2 \cdot L \cdot h_{kv} \cdot d \cdot n \cdot \frac{b}{8}
$$

Inline fractions such as \(\frac{a}{b}\) and roots $\sqrt{x^2+1}$ sit on the line, and attention is

\[
\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d}}\right)V = \sum_{i=1}^{n} \alpha_i v_i
\]

What can't be drawn is shown as it was written: $\notacommand{x$."""


def figures(tokens: int, rate: str = "31.2") -> tuple[Figure, ...]:
    """Return the figures below a reply."""
    return (
        Figure("", f"{tokens:,}", "tokens"),
        Figure("first token", "0.24", "s", tip="Measured from sending to the first token."),
        Figure("prefill", "3,120", "tok/s"),
        Figure("decode", rate, "tok/s"),
        Figure("", "41", "%", "of ceiling"),
    )


def gallery() -> list[MessageView]:
    """Return a conversation with every kind of row."""
    return [
        MessageView(
            "u1",
            "user",
            "How much memory does one token of KV cache take in this model? Show the arithmetic in "
            "Python.",
            attachments=(AttachmentView("config.json", 812), AttachmentView("notes.md", None)),
            version_index=1,
            version_count=3,
        ),
        MessageView("a1", "assistant", CODE_ANSWER, figures=figures(142), version_count=2),
        MessageView("u2", "user", "And in general?\n\nWith a <b>table</b>, please."),
        MessageView(
            "a2",
            "assistant",
            RICH_ANSWER,
            reasoning="The user wants a **table**.\n\nI should compare f16, q8_0 and q4_0.",
            reasoning_tokens=312,
            figures=figures(512),
        ),
        MessageView(
            "cut",
            "memory_cut",
            "The model no longer remembers what is above (18 messages, 9,412 tokens)",
            actions=(NoticeAction("Raise the context", "raise_context"),),
        ),
        MessageView("u3", "user", "Show me the formulas"),
        MessageView("a3", "assistant", MATH_ANSWER, figures=figures(260)),
        MessageView("u4", "user", "Go on"),
        MessageView(
            "a4",
            "assistant",
            "The next step is to",
            state="interrupted",
            note="The engine ended unexpectedly (signal SIGABRT, during decode). What had arrived "
            "is kept.",
            actions=(
                NoticeAction("Fewer GPU layers", "fewer_layers"),
                NoticeAction("Compatibility mode", "compatibility"),
            ),
            figures=figures(5),
        ),
        MessageView("a5", "assistant", "A reply that was stopped", state="stopped"),
        MessageView(
            "a6",
            "assistant",
            "",
            state="failed",
            note="There is not enough memory for this context. Choose a smaller one.",
            actions=(NoticeAction("Smaller context", "smaller_context"),),
        ),
        MessageView("n1", "notice", "This model has no chat template; ChatML is used instead."),
        MessageView("u5", "user", "And if I quantise the cache to 8 bits?"),
        MessageView(
            "a7",
            "assistant",
            "Then each value takes 8.5 bits instead of 16 (the block scale costs half a bit), so "
            "the cache shrinks to **68 KiB** per token",
            state="streaming",
            reasoning="Half a bit for the scale",
            figures=(
                Figure("", "27", "tokens"),
                Figure("first token", "0.11", "s", "(20,870 of 20,907 prompt tokens reused)"),
                Figure("decode", "30.8", "tok/s"),
            ),
        ),
        MessageView("a8", "assistant", "", state="waiting", progress=(1204, 5310)),
    ]


def conversation(count: int) -> list[MessageView]:
    """Return a conversation of ``count`` messages with code, tables and formulas."""
    answers = (CODE_ANSWER, RICH_ANSWER, MATH_ANSWER, "Short and plain.", CODE_ANSWER * 2)
    made: list[MessageView] = []
    for index in range(count):
        if index % 2 == 0:
            text = f"Question {index}: " + "how does this work in detail? " * (index % 7 + 1)
            made.append(MessageView(f"m{index}", "user", text))
        else:
            text = f"Answer {index}.\n\n" + answers[index // 2 % len(answers)]
            made.append(
                MessageView(f"m{index}", "assistant", text, figures=figures(100 + index % 400))
            )
    return made
