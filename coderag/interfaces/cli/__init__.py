"""The command line.

Help and version must start fast: modules import slow packages (Rich, pydantic, `coderag.app`) inside functions.
"""
