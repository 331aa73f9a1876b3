"""The command: `moeplan`, or `python -m moeplan`."""

import os
import sys

BINARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prefix", "bin", "moeplan")


def main() -> None:
    """Becomes the binary of the package, with the same arguments."""
    os.execv(BINARY, ["moeplan"] + sys.argv[1:])


if __name__ == "__main__":
    main()
