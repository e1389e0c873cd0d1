"""Golden sets, metrics, gates and reports."""
