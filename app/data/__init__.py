"""What is kept on disk: conversations, the library of models, imports and exports."""
