"""The shape of a conversation: which message answers which, apart from what they say.

Messages form a tree, because an edit and a regeneration add a version beside the old one. A
message that is deleted alone stays in the tree and is passed over, so that what followed it hangs
on what came before it, and undoing is a matter of one mark. Everything here is a loop: a
conversation may be thousands of messages deep.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.data.records import Siblings

__all__ = ["MessageTree", "Node"]


@dataclass(frozen=True, slots=True)
class Node:
    """A message's place; ``seq`` grows with time over the whole store."""

    seq: int
    id: str
    parent_id: str | None
    deleted: bool


class MessageTree:
    """The nodes of one conversation, in the order of their ``seq``; parents come first."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes: dict[str, Node] = {}
        self._living_parent: dict[str, str | None] = {}
        self._children: dict[str | None, list[str]] = {}
        self._all_children: dict[str | None, list[str]] = {}
        for node in nodes:
            parent = self._nodes.get(node.parent_id) if node.parent_id else None
            parent_id = parent.id if parent else None
            self._nodes[node.id] = node
            self._all_children.setdefault(parent_id, []).append(node.id)
            above = self._living_parent[parent.id] if parent and parent.deleted else parent_id
            self._living_parent[node.id] = above
            if not node.deleted:
                self._children.setdefault(above, []).append(node.id)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._nodes

    def is_deleted(self, message_id: str) -> bool:
        """Tell whether a message is hidden."""
        return self._nodes[message_id].deleted

    def living_parent(self, message_id: str) -> str | None:
        """Return the nearest message above that isn't deleted, None at the top."""
        return self._living_parent[message_id]

    def siblings(self, message_id: str) -> Siblings:
        """Return the versions at a message's place, itself among them; none if it is deleted."""
        ids = self._children.get(self._living_parent[message_id], [])
        if self._nodes[message_id].deleted:
            return Siblings(0, 0, ())
        return Siblings(ids.index(message_id), len(ids), tuple(ids))

    def forks(self, leaf_id: str | None) -> dict[str, Siblings]:
        """Return the siblings of each message on the way to a leaf that has more than one."""
        found: dict[str, Siblings] = {}
        place = self._start(leaf_id)
        while place is not None:
            above = self._living_parent[place]
            if len(self._children[above]) > 1:
                found[place] = self.siblings(place)
            place = above
        return found

    def _start(self, leaf_id: str | None) -> str | None:
        if leaf_id is None or leaf_id not in self._nodes:
            return None
        return self._living_parent[leaf_id] if self._nodes[leaf_id].deleted else leaf_id

    def descendants(self, message_id: str) -> list[str]:
        """Return a message and everything below it, deleted ones included, oldest first."""
        found = [message_id]
        for place in found:  # grows while it is walked
            found.extend(self._all_children.get(place, ()))
        return sorted(found, key=lambda place: self._nodes[place].seq)

    def newest_leaf(self, message_id: str) -> str:
        """Return the newest living message at or below a message; itself if there is none."""
        living = [d for d in self.descendants(message_id) if not self._nodes[d].deleted]
        return living[-1] if living else message_id

    def leaf_without(self, message_id: str, hidden: set[str]) -> str | None:
        """Return what to show once some messages are hidden: another version, else what is above.

        ``message_id`` is the topmost hidden one; None leaves an empty conversation.
        """
        above = self._living_parent[message_id]
        others = [c for c in self._children.get(above, []) if c not in hidden]
        return self.newest_leaf(others[-1]) if others else above
