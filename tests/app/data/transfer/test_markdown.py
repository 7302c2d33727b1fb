from __future__ import annotations

from app.data.conversations import ConversationStore
from app.data.records import Attachment
from app.data.transfer import markdown
from tests.helpers.store_files import STATS, make_chat

EXPECTED = """\
# What is a load line?

- Begun: 2026-01-01 00:00 UTC
- Model: tiny
- Sampling: temperature 0.2

## System prompt

Be brief.

## You

What is a load line?

## tiny

<details>
<summary>Reasoning</summary>

hm

</details>

A mark on a hull.

*12 tokens · 22.0 tok/s · prompt 100 tokens, 60 of them reused*

## You

Attached: a.md

````
```
code
```
````

and this?

## Assistant (interrupted)

Half an
"""


def test_a_chat_reads_well(store: ConversationStore) -> None:
    chat = make_chat(store)
    store.update(chat.id, system_prompt="Be brief.", sampling={"temperature": 0.2})
    store.select_branch(chat.first_reply)
    asked = store.add_message(
        chat.id, chat.first_reply, "user", "and this?",
        attachments=[Attachment("a.md", "```\ncode\n```")],
    )  # fmt: skip
    reply = store.start_reply(chat.id, asked.id)
    store.save_reply(reply.id, "Half an", "", "interrupted")
    store._write(lambda db: db.execute("UPDATE conversations SET created_ms = 1767225600000"))
    kept = store.get(chat.id)
    assert kept is not None
    assert STATS.decode_per_s == 22
    text = markdown.render(kept, store.path(chat.id))
    assert text == EXPECTED
    assert markdown.render_all([(kept, [])] * 2).count("\n---\n") == 1


def test_an_empty_chat(store: ConversationStore) -> None:
    empty = store.create(model_name="tiny")
    text = markdown.render(empty, [])
    assert text.startswith("# Untitled chat\n")
    assert "- Model: tiny\n" in text
