"""A scripted engine behind the same worker: for tests, and to try the window without a model.

It replaces llama.cpp alone. Templates, prefix reuse, trimming, the decode loop, text and the
protocol are the real ones.
"""
