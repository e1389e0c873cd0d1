"""Bytes to elements: one file per family of formats."""
