"""`python -m pointsman`."""

import sys

from pointsman.cli.main import app


def main() -> None:
    """The `pointsman` command."""
    # httpx looks for its own command line when it is imported and does without, but where rich, click and pygments are
    # installed it loads them for it: 6 MB in every router.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    app()


if __name__ == "__main__":
    main()
