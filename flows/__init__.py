"""One file per job, the settings, and the command line."""
