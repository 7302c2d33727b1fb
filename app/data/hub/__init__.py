"""Models from Hugging Face: search, files of a repository, their headers, and the download.

Nothing here is used unless a person asks for it, and nothing here runs on the window's thread:
the window starts `app.data.hub.child` as a process of its own, which can be stopped at any moment.
"""
