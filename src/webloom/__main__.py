"""The `webloom` command. While it is being imported, Ctrl-C ends it silently; afterwards it handles
Ctrl-C itself."""

import signal


def main() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from webloom.entrypoints.cli.main import main as run_command

    run_command()


if __name__ == "__main__":
    main()
