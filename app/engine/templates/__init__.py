"""Chat templates: hostile until proven otherwise, rendered in a process that can be killed.

Nothing is imported here, because `child` starts for every model and has to start fast.
"""
