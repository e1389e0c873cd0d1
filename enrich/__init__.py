"""Chunk to contextual text to embedding."""
