"""The Models page: what models there are, whether they fit, and what can be done with them."""
