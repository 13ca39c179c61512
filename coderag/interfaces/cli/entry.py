"""Where the process of a command begins: Ctrl-C ends it without a traceback from here on."""

import signal


def run() -> None:
    """Run the command line of this process. The entry point of the installed ``coderag``."""
    handler = signal.getsignal(signal.SIGINT)
    is_handled = handler is signal.default_int_handler  # it is not below `nohup`, nor in the background of a script
    if is_handled:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # an error amid the imports would be told as a traceback
    from coderag.interfaces.cli.main import run as run_command

    if is_handled:
        signal.signal(signal.SIGINT, handler)
    run_command()
