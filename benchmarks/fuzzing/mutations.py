"""Ways to spoil an input: by bytes, by tokens and lines of text, by the tree of a JSON document."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

# What readers stumble over: bounds of number types, text that is almost a number, other alphabets'
# digits, halves of characters, marks of other encodings, paths that climb, things that nest.
NUMBERS = (
    *("0", "-0", "-1", "1", "2", "00", "+3", "1_0", "0x10", "1e3", "1e999", "-1e999", "1e-999"),
    *("2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "1.7e308", "5."),
    *("-9223372036854775809", "18446744073709551616", "1" * 40, "9" * 400, "9" * 4299, "9" * 4301),
    *(
        "NaN",
        "nan",
        "NAN",
        "INF",
        "-inf",
        "Infinity",
        "true",
        "null",
        "None",
        "١٢",
        "1٢",
        ".",
        ".5",
    ),
)
TOKENS = (
    *NUMBERS,
    *("é", "\ud83d", "\\ud800", "&#xD800;", "&#0;", "&amp;", "&bogus;", "\0", "\ufeff", "\u2028"),
    *("\x0c", "\x1a", "\r", "", " ", "\t", "\n", ",", ";", "#", '"', "'", "[", "]", "{", "}", "<"),
    *(">", "[[", "]]", "()", "[]", "../../escaped", "/etc/passwd", "C:\\x", "%s%n", "{0}"),
    *("__class__", "__reduce__", "_networkx_list_start", "x" * 5000, "label", "weight", "id"),
    *("key", "source", "target", "directed 1", "multigraph 1"),
)

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 7, 10**6, 10**9, 2**31, 10**12, 2**63 - 1, 2**63, 2**64),
    *(-(2**63) - 1, 10**40, 10**400, 0.5, -0.5, 1e308, -1e308, 1e-320),
    *(float("nan"), float("inf"), float("-inf")),
    *("", "0", "x", "x" * 5000, "\0", "\ud800", "é", "../../escaped", "float64", "error", "sum"),
    *([], [0], [[0]], [0, 0], [10**12, 0], ["a", 1], [None], [{}], {}, {"a": 1}),
    *({"tuple": [1, 2]}, {"tuple": 5}, {"tuple": []}, {"set": [[]]}, {"bytes": "zz"}),
)

LONGEST = 300_000  # repeats of repeats would outgrow any memory
DEPTHS = (3, 60, 70, 300, 900, 950, *range(960, 1000, 3), 1500, 5000, 100_000)
NEST = "@nest@"
TWICE = "@twice@"


def nested(rng: Random) -> str:
    """Return brackets inside brackets, closed or not."""
    depth = rng.choice(DEPTHS)
    opening, closing = rng.choice(
        [("[", "]"), ('{"a":', "}"), ("a [ ", " ]"), ("<node>", "</node>")]
    )
    middle = rng.choice(["", "1", '"x"'])
    return opening * depth + middle + (closing * depth if rng.random() < 0.8 else "")


def mutate_bytes(rng: Random, data: bytes) -> bytes:
    """Flip, cut, repeat or insert a few bytes, or recode the whole."""
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 2, 4, 8, 40)))
        way = rng.randrange(9)
        if way == 0:
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        elif way == 1:
            data = (
                data[:at]
                + bytes(rng.choice((b"\0", b"\xff", b"\x80", b"\xef\xbb\xbf")))
                + data[at:]
            )
        elif way == 2:
            data = data[:at] + data[end:]
        elif way == 3:
            data = data[:at]
        elif way == 4:
            data = data[:end] + data[at:]
        elif way == 5:
            data = data[:at] + rng.randbytes(rng.choice((1, 4, 16))) + data[end:]
        elif way == 6:
            data = data[:at] + data[at:end] * rng.choice((2, 30, 2000)) + data[end:]
        elif way == 7 and at < len(data):
            data = data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
        elif way == 8 and rng.random() < 0.2:
            coding = rng.choice(("utf-16", "utf-16-le", "utf-8-sig", "utf-32", "utf-7"))
            data = data.decode("latin-1").encode(coding)
    return data


def mutate_text(rng: Random, data: bytes) -> bytes:
    """Replace, repeat, swap or drop tokens and lines."""
    text = data.decode("utf-8", "surrogateescape")
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        text = rng.choice((_token, _token, _token, _line))(rng, text)[:LONGEST]
    return text.encode("utf-8", "surrogatepass")


def _token(rng: Random, text: str) -> str:
    tokens = re.findall(r"\w+|\s+|[^\w\s]", text) or [""]
    at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    way = rng.randrange(7)
    if way <= 2:
        tokens[at] = rng.choice(TOKENS)
    elif way == 3:
        tokens.insert(at, rng.choice(TOKENS))
    elif way == 4:
        tokens[at] = ""
    elif way == 5:
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif rng.random() < 0.2:
        tokens.insert(at, nested(rng))
    else:
        tokens.insert(at, tokens[other])
    return "".join(tokens)


def _line(rng: Random, text: str) -> str:
    lines = text.splitlines(keepends=True) or [""]
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(7)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(at, lines[other])
    elif way == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif way == 3:
        lines[at] *= rng.choice((2, 3, 50, 500))
    elif way == 4:
        lines[at] = lines[at].strip() + rng.choice(("", "\r\n", "\r", "\x85", "\n\n", "\x0b"))
    elif way == 5:
        lines.insert(at, rng.choice(TOKENS) + "\n")
    else:
        lines[at] = lines[at].strip() * rng.choice((2, 1000)) + "\n"
    return "".join(lines)


def mutate_tree(rng: Random, tree: Any, values: tuple[Any, ...] = VALUES) -> Any:
    """Change a few places of a copy of a JSON document."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places = _places(tree)
        if not places:
            return rng.choice(values)
        holder, key = rng.choice(places)
        way = rng.randrange(8)
        if way <= 3:
            holder[key] = copy.deepcopy(rng.choice(values))
        elif way == 4:
            del holder[key]
        elif way == 5:
            source, name = rng.choice(places)
            if name in (source if isinstance(source, dict) else range(len(source))):
                holder[key] = copy.deepcopy(source[name])
        elif way == 6:
            holder[key] = NEST if rng.random() < 0.3 else [holder[key]]
        elif isinstance(holder, dict):
            holder[rng.choice((TWICE + str(key), "x", str(key) + " ", ""))] = holder[key]
        else:
            holder.insert(key, copy.deepcopy(rng.choice((holder[key], *values))))
    return tree


def dump_tree(rng: Random, tree: Any) -> str:
    """Write JSON, with what `json.dumps` cannot write: one key twice, and deep nesting."""
    text = json.dumps(tree)
    while f'"{NEST}"' in text:
        text = text.replace(f'"{NEST}"', nested(rng), 1)
    return text.replace(TWICE, "")


def _places(tree: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict):
            found += [(holder, key) for key in holder]
            waiting += holder.values()
        elif isinstance(holder, list):
            found += [(holder, key) for key in range(len(holder))]
            waiting += holder
    return found


Mutation = Callable[[Random, bytes], bytes]


def mutate_json(rng: Random, data: bytes) -> bytes:
    """Change the tree of a JSON file, its text, or both."""
    text = dump_tree(rng, mutate_tree(rng, json.loads(data))).encode("utf-8", "surrogatepass")
    return mutate_text(rng, text) if rng.random() < 0.2 else text


def mutate(rng: Random, data: bytes, *ways: Mutation) -> bytes:
    """Spoil an input by one of the given ways or, one time in four, by bytes; now and then not."""
    draw = rng.random()
    if draw < 0.02:
        return data
    if draw < 0.27:
        return mutate_bytes(rng, data)
    return rng.choice(ways)(rng, data)
