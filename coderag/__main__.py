"""``python -m coderag``: the same as ``coderag``.

Python puts the current folder first on its path for ``-m``; it may be a repository, which must not be imported from. What
Python itself imports before this line it cannot keep out: ``python -P -m coderag`` does, and so does the installed command.
"""

import sys

if not sys.flags.safe_path:
    del sys.path[:1]

from coderag.interfaces.cli.entry import run

if __name__ == "__main__":
    run()
