"""`python -m sickbay` is the same as `sickbay`."""

from sickbay.cli import main

if __name__ == "__main__":
    main()
