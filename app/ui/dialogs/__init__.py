"""Dialogs: settings of the program, of a model and of a chat, keyboard map, about."""
