"""The page Get models: search, the files of a repository, and what is being downloaded."""
