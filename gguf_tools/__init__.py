"""What a GGUF file says and what follows from it; no Qt, no engine."""
