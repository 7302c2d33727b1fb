"""Conversations into files and out of them: own JSON, Markdown, and what other programs write."""
