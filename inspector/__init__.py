"""What was measured and what it means; no Qt outside inspector.widgets."""
