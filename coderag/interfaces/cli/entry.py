"""Entry point of the process. From here on Ctrl-C ends it without a traceback."""

import signal


def run() -> None:
    """Run the command line of this process. The entry point of the installed ``coderag``."""
    handler = signal.getsignal(signal.SIGINT)
    is_handled = handler is signal.default_int_handler  # false under `nohup` and in the background of a script
    if is_handled:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # during imports an exception would print a traceback
    from coderag.interfaces.cli.main import run as run_command

    if is_handled:
        signal.signal(signal.SIGINT, handler)
    run_command()
