"""The view of a conversation: `Transcript` and the values it shows and emits."""
