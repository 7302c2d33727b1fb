"""Variants of a model side by side: what was measured of each, figures from it, a report."""
