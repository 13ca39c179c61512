"""The command line. Modules named like a command hold that command; the others, with an underscore, serve them all.

Help and version must come at once: a module imports what is slow (Rich, pydantic, `coderag.app`) inside its functions.
"""
