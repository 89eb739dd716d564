import os
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ddgk
from ddgk.cli.commands import described, sections

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
MAKER = runpy.run_path(str(DOCUMENT.with_name("make_cli.py")))
COMMANDS = MAKER["commands"]()


def test_the_commands():
    assert list(COMMANDS) == [
        "ddgk embed",
        "ddgk align",
        "ddgk compare",
        "ddgk explore",
        "ddgk status",
        "ddgk config",
        "ddgk doctor",
        "ddgk demo",
        "ddgk search build",
        "ddgk search query",
        "ddgk datasets list",
        "ddgk datasets get",
        "ddgk datasets show",
    ]


def test_the_page_is_made_from_the_commands():
    """Make it anew with `python docs/make_cli.py > docs/cli.md`."""
    assert DOCUMENT.read_text() == MAKER["page"]()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_help(name):
    text = DOCUMENT.read_text()
    assert f"## {name}\n" in text
    for parameter in COMMANDS[name].params:
        assert re.fullmatch(r"[A-Z`a-z.].*\.", parameter.help), parameter.name
        assert described(parameter).replace("|", "\\|") in text
        if parameter.param_type_name == "option" and not parameter.is_flag:
            assert parameter.metavar, f"{parameter.name} has no name for its value"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_and_groups_in_order(name, run):
    shown = run(*name.split()[1:], "--help").output
    head, _, rest = shown.partition("Options:")
    assert f"  {name}" in head
    places = [f"Options:{rest}".index(f"{title}:\n") for title in sections(COMMANDS[name].params)
              if title != "Arguments"]  # fmt: skip
    assert places == sorted(places)


def test_every_example_is_understood():
    """Examples fail for want of their files, never for their options."""
    found = set(re.findall(r"^ddgk (?:\w+ ?){1,2}.*$", DOCUMENT.read_text(), flags=re.MULTILINE))
    assert len(found) > 20
    for line in found:
        words = [word.strip('"') for word in line.split()[1:]]
        name = " ".join(["ddgk", *words[:2]])
        name = name if name in COMMANDS else " ".join(["ddgk", words[0]])
        own = words[len(name.split()) - 1 :]
        COMMANDS[name].make_context(name, own, obj={})


def test_completion_knows_commands_and_choices():
    code = "import sys; sys.argv = ['ddgk']; from ddgk.cli import main; main()"

    def completed(*words):
        given = {"_DDGK_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words)}
        given["COMP_CWORD"] = str(len(words) - 1)
        return subprocess.run(
            [sys.executable, "-c", code], env=os.environ | given, capture_output=True, text=True
        ).stdout.split()

    assert completed("ddgk", "em") == ["embed"]
    assert completed("ddgk", "embed", "--preset", "pa") == ["paper"]
    assert completed("ddgk", "embed", "--weights", "r") == ["rank"]


def test_version(run):
    assert run("--version").output == f"ddgk {ddgk.__version__}\n"


def test_no_command_shows_help():
    finished = subprocess.run([sys.executable, "-m", "ddgk"], capture_output=True, text=True)
    assert "ddgk demo" in finished.stdout + finished.stderr
    assert "Traceback" not in finished.stderr


def test_mistakes_in_usage_are_one_line(fails):
    assert fails("embde", code=2) == (
        "error: No such command 'embde'. Did you mean 'embed'?; see ddgk --help"
    )
    assert "see ddgk datasets --help" in fails("datasets", "gte", code=2)
    assert "--bogus" in fails("--bogus", code=2)
    assert "GRAPHS" in fails("embed", code=2)
    assert "put a pattern in quotes" in fails("compare", "a.gml", "b.gml", code=2)
    assert "pattern" not in fails("doctor", "a.gml", code=2)
    assert "\\x1b[31m" in fails("embed", "x", "--\x1b[31m", code=2)


def test_importing_the_commands_imports_nothing_slow():
    slow = ("numpy", "torch", "matplotlib", "sklearn", "scipy", "networkx", "rich.table")
    code = f"import sys, ddgk.cli; print([name for name in {slow} if name in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.stdout == "[]\n", finished.stderr


def test_as_a_module_errors_are_one_line_too():
    words = [sys.executable, "-m", "ddgk", "embed", "nowhere.gml", "-o", "out.npy"]
    finished = subprocess.run(words, capture_output=True, text=True)
    assert finished.returncode == 1
    assert finished.stderr == "error: nowhere.gml: there is no such file or folder\n"
    assert finished.stdout == ""


def test_the_time_is_that_of_the_whole_command(rings):
    words = [sys.executable, "-m", "ddgk", "embed", rings, "-o", "x.npy"]
    began = time.perf_counter()
    finished = subprocess.run(words, capture_output=True, text=True, check=True)
    whole = time.perf_counter() - began
    told = float(re.search(r"in ([0-9.]+) s$", finished.stdout)[1])
    assert 0.5 * whole < told <= whole + 0.05


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
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    # Progress and the engine's note that it is compiling may come first.
    said = [line for line in errors.splitlines() if not line.startswith(("ddgk: ", "Embedding"))]
    assert (process.returncode, said) == (130, ["stopped"])
