import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer.main

import ddgk
from ddgk.cli import app

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "cli.md"


def commands(command=None, name="ddgk"):
    command = typer.main.get_command(app) if command is None else command
    if not hasattr(command, "commands"):
        return {name: command}
    found = {}
    for word, inner in command.commands.items():
        found |= commands(inner, f"{name} {word}")
    return found


def section(name):
    """Return what the document says about one command."""
    parts = re.split(r"^## (.+)$", DOCUMENT.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[name]


def test_the_commands_of_the_issue_are_there():
    assert set(commands()) == {
        "ddgk demo",
        "ddgk embed",
        "ddgk status",
        "ddgk align",
        "ddgk datasets list",
        "ddgk datasets get",
        "ddgk datasets show",
        "ddgk experiment ablation",
        "ddgk experiment attention",
        "ddgk experiment clustering",
        "ddgk experiment families",
        "ddgk experiment sampling",
        "ddgk experiment classification",
        "ddgk experiment invariance",
        "ddgk experiment relations",
        "ddgk experiment report",
        "ddgk relations",
        "ddgk tune",
    }


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_and_option_is_documented(name):
    text = section(name)
    for parameter in commands()[name].params:
        called = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar]
        for word in called:
            assert f"`{word}`" in text, f"{word} is missing in docs/cli.md"
        assert parameter.help in text, f"docs/cli.md says something else of {called[0]}"
    documented = re.findall(r"^\| `(-[^`]+)`", text, flags=re.MULTILINE)
    known = {word for parameter in commands()[name].params for word in parameter.opts}
    assert set(documented) <= known, "docs/cli.md has options that are gone"


@pytest.mark.parametrize("name", sorted(commands()))
def test_help_has_an_example(name, run):
    shown = run(*name.split()[1:], "--help").output
    assert f"  {name}" in shown.partition("Options:")[0]
    for line in re.findall(rf"^  ({name} .+)$", shown, flags=re.MULTILINE):
        assert line in section(name)


def test_version(run):
    assert run("--version").output == f"ddgk {ddgk.__version__}\n"


def test_no_command_shows_help():
    finished = subprocess.run([sys.executable, "-m", "ddgk"], capture_output=True, text=True)
    assert "ddgk demo" in finished.stdout + finished.stderr
    assert "Traceback" not in finished.stderr


def test_a_wrong_command_is_a_mistake_in_usage(run):
    assert "No such command" in run("embde", code=2).stderr


def test_importing_the_commands_imports_nothing_slow():
    slow = ("torch", "matplotlib", "sklearn", "scipy", "networkx", "rich.table")
    code = f"import sys, ddgk.cli; print([name for name in {slow} if name in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.stdout == "[]\n", finished.stderr


def test_as_a_module_errors_are_one_line_too():
    words = [sys.executable, "-m", "ddgk", "embed", "nowhere.gml", "-o", "out.npy"]
    finished = subprocess.run(words, capture_output=True, text=True)
    assert finished.returncode == 1
    assert finished.stderr == "error: nowhere.gml: there is no such file or folder\n"
    assert finished.stdout == ""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_ends_in_a_short_line(folder):
    words = [sys.executable, "-m", "ddgk", "demo"]
    # Tests that run in the background may ignore Ctrl-C, and children inherit that.
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (folder / "ddgk-demo").exists():
        time.sleep(0.05)
        assert process.poll() is None
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    # On a new machine the engine says first that it is compiling.
    said = [line for line in errors.splitlines() if not line.startswith("ddgk: compiling")]
    assert (process.returncode, said) == (130, ["stopped"])
