"""The paper's experiments, its comparison methods, and what else was measured.

Not installed with the library; uses the library's public names only. `python -m experiments --help`
lists the commands.
"""
