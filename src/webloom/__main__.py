"""The command. To import all of it takes a moment; Ctrl-C ends that without a word."""

import signal


def main() -> None:
    is_interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from webloom.entrypoints.cli.main import main as run_command

    if is_interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command()


if __name__ == "__main__":
    main()
