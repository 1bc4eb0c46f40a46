"""The command line: what each word does is in the module of that name."""

import typer

from pointsman.cli import (
    admin,
    alerts,
    baseline,
    calibrate,
    check,
    demo,
    eval,
    export,
    force,
    gray,
    jobs,
    keys,
    models,
    replay,
    report,
    requests,
    reset,
    run,
    score,
    serve,
    simulate,
    status,
    switch,
)

app = typer.Typer(no_args_is_help=True, add_completion=True, help="Routes LLM calls and takes looping models off.")
app.command("run")(run.run)
app.command("demo")(demo.demo)
app.command("serve")(serve.serve)
app.command("status")(status.status)
app.command("models")(models.models)
app.command("force")(force.force)
app.command("reset")(reset.reset)
app.command("requests")(requests.requests)
app.command("check")(check.check)
app.command("migrate")(serve.migrate)
app.command("score")(score.score_command)
app.command("export")(export.export)
app.command("simulate")(simulate.simulate)
app.command("eval")(eval.evaluate)
app.command("replay")(replay.replay)
app.command("mark")(replay.mark)
app.command("calibrate")(calibrate.calibrate)
app.add_typer(baseline.app, name="baseline")
app.add_typer(report.app, name="report")
app.command("ack")(alerts.ack)
app.command("silence")(alerts.silence)
app.add_typer(alerts.app, name="alerts")
app.add_typer(keys.app, name="keys")
app.add_typer(admin.app, name="admin")
app.add_typer(switch.app, name="switch")
app.add_typer(jobs.app, name="jobs")
app.add_typer(gray.app, name="gray")


@app.callback()
def about() -> None:
    """Routes LLM calls across models and takes a model off the line when it is alive but talks rubbish."""
