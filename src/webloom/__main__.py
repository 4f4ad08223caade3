"""The command. Importing it takes a moment, and Ctrl-C ends that silently; the command line then
handles Ctrl-C itself."""

import signal


def main() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from webloom.entrypoints.cli.main import main as run_command

    run_command()


if __name__ == "__main__":
    main()
