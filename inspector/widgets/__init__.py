"""The panel's widgets. The only part of the inspector that knows Qt."""
