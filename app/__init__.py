"""Plimsoll, the program: engine process, data, command line and window."""
