"""The engine's libraries are chosen by `bundle.engine_libraries`; nothing more is collected."""

hiddenimports: list[str] = []
