"""The window around the conversation: header, sidebar, composer, bars, status line."""
