"""Measures the pipeline against the bare calls below it. Ratios, since machines differ."""
