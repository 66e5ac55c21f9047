"""What the README promises exists."""

import re

import click
import pytest
import typer.main

from app.cli import app
from app.config import ROOT, Settings

README = (ROOT / "README.md").read_text()


def test_make_targets_exist():
    promised = set(re.findall(r"\bmake ([a-z]+)\b(?=`|\n|\s+#)", README))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"run", "test"} <= promised <= targets


@pytest.mark.parametrize("line", re.findall(r"^halflife .+$", README, re.MULTILINE))
def test_commands_take_the_arguments_shown(line):
    command: click.Command = typer.main.get_command(app)
    words = line.split()[1:]
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_settings_table_is_complete():
    rows = dict(re.findall(r"^\| `HALFLIFE_([A-Z_]+)` \| (.+?) \|", README, re.MULTILINE))
    assert {name.lower() for name in rows} == set(Settings.model_fields)
    for name, field in Settings.model_fields.items():
        if field.default_factory is None and field.default is not None:
            shown = f"{field.default:g}" if isinstance(field.default, float) else str(field.default)
            assert rows[name.upper()] == f"`{shown}`"
