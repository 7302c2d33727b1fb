"""The engine: llama.cpp in a process of its own, and the two clients that talk to it."""
