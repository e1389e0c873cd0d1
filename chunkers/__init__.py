"""Elements to chunks that follow the structure and never cut a table from its header."""
