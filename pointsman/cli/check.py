"""`pointsman check FILE`: is this a configuration that would start?"""

import os
from pathlib import Path

import typer

from pointsman.settings import Settings, SettingsError, load

DEFAULT_FILE = Path("pointsman.yaml")
DEMO_FILE = Path("var/demo/pointsman.yaml")
"""What `make run` wrote of its settings, for the commands beside it."""


def check(file: Path = typer.Argument(DEFAULT_FILE, help="The configuration file.")) -> None:
    """Check FILE whole; every mistake is named with its line. Exit 0: it would start. 2: it would not."""
    # Every command imports this module, few need these.
    from pointsman.alert_templates import template_problems
    from pointsman.doubts import doubts_in

    settings = startable_or_exit(file)
    parts = ((settings.models, "model"), (settings.routes, "route"), (settings.alerts.channels, "alert channel"))
    told = ", ".join(f"{len(part)} {name}{'' if len(part) == 1 else 's'}" for part, name in parts)
    for problem in template_problems(settings):
        typer.echo(f"{file}: alerts.templates: {problem}; the packaged one would stand in", err=True)
    for problem in suite_problems(settings):
        typer.echo(f"{file}: nightly.suites: {problem}; the nightly run would fail", err=True)
    for doubt in doubts_in(file, settings):
        typer.echo(f"{file}: warning: {doubt}", err=True)
    typer.echo(f"{file}: fine; {told}")


def suite_problems(settings: Settings) -> list[str]:
    """What is wrong with the suite files that are configured."""
    if not settings.nightly.suites:
        return []
    from monitor.nightly.suite import SuiteError, read_files
    from monitor.nightly.suite import load as load_suite

    try:
        load_suite(read_files(map(Path, settings.nightly.suites)))
    except SuiteError as error:
        return [str(mistake) for mistake in error.mistakes]
    return []


def startable_or_exit(file: Path) -> Settings:
    """The settings of `file`, whose `data_dir` can be used; tells what is wrong and exits with 2 otherwise."""
    from pointsman.data_dir import checked_data_dir

    settings = settings_or_exit(file, or_demo=False)
    try:
        checked_data_dir(file, settings)
    except SettingsError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    return settings


def config_or_demo(file: Path) -> Path:
    """`file`; the demo's where that is the default one and is not here, which is said."""
    if file != DEFAULT_FILE or file.exists() or not DEMO_FILE.exists():
        return file
    typer.echo(f"no {DEFAULT_FILE} here: acting on the demo of `make run`, {DEMO_FILE}", err=True)
    return DEMO_FILE


def settings_or_exit(file: Path, *, or_demo: bool = True) -> Settings:
    """The settings of `file`; tells what is wrong and exits with 2 otherwise.

    `or_demo`: where no file was named and none is in the default place, those of the demo that `make run` started here.
    """
    file = config_or_demo(file) if or_demo else file
    try:
        return load(file, os.environ)
    except SettingsError as error:
        typer.echo(str(error), err=True)
    except UnicodeDecodeError:
        typer.echo(f"{file}: is not UTF-8 text", err=True)
    except FileNotFoundError:
        typer.echo(f"{file.absolute()}: there is no such file; name the configuration to use", err=True)
    except OSError as error:
        typer.echo(f"{file.absolute()}: {error.strerror}", err=True)
    raise typer.Exit(2)
