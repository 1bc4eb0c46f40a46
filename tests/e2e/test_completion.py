"""Completion in the shell, as a person presses Tab: by bash itself, and by what zsh's and fish's scripts ask and read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("pointsman")
PRESS_TAB = r"""
source <("$POINTSMAN" --show-completion bash)
complete -p pointsman >/dev/null || exit 3
COMP_WORDS=({words})
COMP_CWORD={at}
_pointsman_completion "$POINTSMAN"
printf '%s\n' "${{COMPREPLY[@]}}"
"""

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="completion, the command is not installed beside Python")


def said(arguments: list[str], **more: str) -> str:
    environment = {**os.environ, "POINTSMAN": str(COMMAND), **more}
    return subprocess.run(
        arguments, env=environment, capture_output=True, text=True, timeout=100, check=True
    ).stdout.strip()


@pytest.mark.skipif(shutil.which("bash") is None, reason="completion, no bash here")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param("pointsman st", ["status"], id="a command"),
        pytest.param("pointsman gray st", ["start", "step", "stop"], id="a command of a group"),
        pytest.param("pointsman force alpha forced", ["forced_open", "forced_normal"], id="a mode"),
        pytest.param("pointsman alerts list --js", ["--json"], id="an option"),
    ],
)
def test_bash_offers_what_may_come_next(words: str, offered: list[str]) -> None:
    script = PRESS_TAB.format(words=words, at=len(words.split()) - 1)
    assert said(["bash", "-c", script]).split() == offered


def test_zsh_and_fish_are_told_the_same_with_what_each_does() -> None:
    asked = {"_TYPER_COMPLETE_ARGS": "pointsman res", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    zsh = said([str(COMMAND)], _POINTSMAN_COMPLETE="complete_zsh", **asked)
    fish = said([str(COMMAND)], _POINTSMAN_COMPLETE="complete_fish", **asked)
    assert '"reset":"Start a model afresh' in zsh
    assert fish.startswith("reset\tStart a model afresh")
    for shell, hook in (("zsh", "compdef _pointsman_completion pointsman"), ("fish", "complete --command pointsman")):
        # By itself it shows the script of the shell it runs in; here each is wanted in turn.
        named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
        script = said([str(COMMAND), "--show-completion", shell], **named)
        assert hook in script and f"_POINTSMAN_COMPLETE=complete_{shell}" in script
        if binary := shutil.which(shell):
            subprocess.run([binary, "-n", "/dev/stdin"], input=script, text=True, timeout=60, check=True)
