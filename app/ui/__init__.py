"""The window. Nothing outside this package (and inspector.widgets) knows Qt's widgets."""
