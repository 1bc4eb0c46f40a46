"""`python -m pointsman`."""

from pointsman.cli.main import app


def main() -> None:
    """The `pointsman` command."""
    app()


if __name__ == "__main__":
    main()
