"""python -m syncopate report RUN... -o report.html: the command, for reports on a run's files.

The package has the command without its training engine. A command installed on the machine may have more.
"""
from __future__ import annotations

import os
import shutil
import sys

OWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "syncopate")


def find_command() -> str | None:
    """The package's own command, or else the machine's."""
    return OWN if os.access(OWN, os.X_OK) else shutil.which("syncopate")


def main() -> None:
    command = find_command()
    if command is None:
        sys.exit("syncopate: this package was installed without the command; pip install it from a wheel "
                 "or the repository (pip install ./python), or put syncopate on the PATH (make install)")
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
