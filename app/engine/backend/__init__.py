"""The only package that imports llama_cpp: everything the worker asks of the engine."""
