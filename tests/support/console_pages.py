"""Every page and every form there is, read off the application itself."""

from starlette.routing import Route

from tests.support.console_desk import Browser


def routes(browser: Browser) -> list[Route]:
    """All routes of the pages, dug out of the application."""
    app = browser.app
    while not hasattr(app, "routes"):
        app = next(
            cell
            for cell in [
                *(getattr(app, "__dict__", {}).values()),
                *(c.cell_contents for c in (getattr(app, "__closure__", None) or ())),
            ]
            if callable(cell) and getattr(cell, "__name__", "") != "admin"
        )
    return [route for route in app.routes if isinstance(route, Route)]


def posts(browser: Browser) -> list[str]:
    return [r.path for r in routes(browser) if "POST" in (r.methods or ()) and r.path not in ("/login", "/logout")] + [
        "/logout"
    ]
