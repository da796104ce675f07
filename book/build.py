"""`make book`: Jupyter Book's own build, where an error of the book ends in its sentence and not in a traceback.

    python book/build.py .
"""

import sys

from jupyter_book.cli.main import build
from sphinx.errors import SphinxError
from sphinx_external_toc.parsing import MalformedError
from yaml import YAMLError


def main(arguments):
    try:
        build.main(["-q", "-W", "--keep-going", *arguments], standalone_mode=False)
    except RuntimeError as error:
        if isinstance(error.__cause__, SphinxError):
            sys.exit(1)  # Sphinx has just said it
        if isinstance(error.__context__, MalformedError):
            sys.exit(f"_toc.yml: {error.__context__}")
        raise
    except YAMLError as error:  # of _toc.yml or _config.yml; it says which
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
