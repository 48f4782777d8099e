"""The commands and their options, as people's scripts use them. A change here belongs in CHANGELOG.md."""

from __future__ import annotations

from typing import Any

import click

from harness.cli.main import cli

COMMANDS: dict[str, tuple[str, ...]] = {
    "run": (
        "[FILE|FOLDER|NAME]...",
        "--steps",
        "--warmup",
        "--variant",
        "--timeout",
        "--memory-limit",
        "--start",
        "--seed",
        "--native",
        "--confirm",
        "--jobs",
        "--faults",
        "--only",
        "--tag",
        "--inconclusive",
        "--known",
        "--out",
        "--format",
        "--quiet",
    ),
    "list": ("[FILE|FOLDER|NAME]...", "--variant", "--only", "--tag", "--format"),
    "report": ("RUN", "--format"),
    "doctor": ("--library", "--format", "--quiet"),
}


def parameters(command: click.Command) -> tuple[str, ...]:
    return tuple(
        parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name
        for parameter in command.params
    )


def meaning(option: click.Parameter) -> dict[str, Any]:
    """What an option is to a user, whichever command it belongs to. Which formats there are is the command's own."""
    told = option.to_info_dict()
    return {key: told[key] for key in ("opts", "secondary_opts", "type", "nargs", "is_flag", "default", "envvar")}


def test_the_commands_and_their_options_are_the_committed_ones() -> None:
    found = {name: parameters(command) for name, command in cli.commands.items()}

    assert found == COMMANDS


def test_an_option_means_the_same_in_every_command() -> None:
    seen: dict[str, tuple[str, dict[str, Any]]] = {}
    different: list[str] = []
    for name, command in cli.commands.items():
        for option in command.params:
            if not isinstance(option, click.Option) or option.name == "format":
                continue
            first, told = seen.setdefault(str(option.name), (name, meaning(option)))
            if told != meaning(option):
                different.append(f"{option.opts[0]} in {name} is not what it is in {first}")

    assert different == []


def test_every_option_and_every_command_says_what_it_is_for() -> None:
    silent = [
        f"{name} {option.opts[0]}"
        for name, command in cli.commands.items()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]

    assert silent == []
    assert [name for name, command in cli.commands.items() if not command.help] == []
