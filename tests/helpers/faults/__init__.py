"""Faults on purpose: each round begins something, breaks something, and looks what became of it."""
