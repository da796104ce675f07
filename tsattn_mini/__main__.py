"""`python -m tsattn_mini`: the command line."""

import sys

from tsattn_mini.cli import main

if __name__ == "__main__":
    sys.exit(main())
