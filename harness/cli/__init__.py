"""The command line: one file a command, whose docstring is its help. Only ``main`` turns errors into exit codes."""
