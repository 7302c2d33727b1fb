"""The page that sets variants of a model side by side."""
