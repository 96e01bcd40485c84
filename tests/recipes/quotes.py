#!/usr/bin/env python3
"""What docs/recipes.md quotes stands in the file that it names, word for word; every file that it links to is there."""
import os
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(os.environ["HF_SOURCE_ROOT"])
DOCUMENT = ROOT / "docs/recipes.md"
failures = 0


def check(good, sentence, told=""):
    global failures
    failures += not good
    print(("ok - " if good else "not ok - ") + sentence)
    if not good:
        print(textwrap.indent(str(told), "#   "))


def holds(lines, block):
    """Is the block in the file, at whatever depth?"""
    size = len(block)
    return any(textwrap.dedent("\n".join(lines[at:at + size])).split("\n") == block for at in range(len(lines) - size + 1))


text = DOCUMENT.read_text()
quotes = re.findall(r"<!-- from (\S+) -->\n\n((?:(?:    .*)?\n)+)", text)
check(len(quotes) >= 5 and len(quotes) == text.count("<!-- from "), "the document quotes the examples", quotes)
for name, quoted in quotes:
    block = textwrap.dedent(quoted).strip("\n").split("\n")
    path = ROOT / name
    check(path.exists() and holds(path.read_text().split("\n"), block), f"{name} holds what is quoted of it: {block[0].strip()}", quoted)
for link in sorted(set(re.findall(r"\]\(([^)#:]+)\)", text))):
    check((DOCUMENT.parent / link).resolve().exists(), f"there is {link}")
sys.exit(1 if failures else 0)
