"""Other people's chunkers over the same files, for ``evals.compare``. Needs the extra "compare"."""
