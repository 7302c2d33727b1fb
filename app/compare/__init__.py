"""Comparing variants: engines driven one after another (or together), for the window and the
command line alike. No Qt here: `runner.Comparison.run` blocks and tells what happens by events.
"""
