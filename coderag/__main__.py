"""``python -m coderag``: the same as ``coderag``."""

from coderag.interfaces.cli.main import run

if __name__ == "__main__":
    run()
