"""What the check scripts share: the C files of the project, a view of C without comments, and TAP output."""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
PRODUCTS = ["lib", "server", "cli", "advisor"]  # what is built and shipped

_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def c_files(*folders):
    """Every .c and .h below the folders, as paths relative to the project."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.[ch]"))
    return sorted(path.relative_to(ROOT) for path in found)


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def without_comments(text):
    """The text with comments and the insides of quotes gone, line numbers kept."""
    def blank(match):
        token = match.group()
        return token[0] * 2 if token[0] in "\"'" else " " + "\n" * token.count("\n")
    return _TOKEN.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


class Report:
    """Prints one TAP line a rule, with what breaks it below."""

    def __init__(self):
        self.bad = False

    def rule(self, sentence, problems):
        problems = list(problems)
        print(f"{'not ok' if problems else 'ok'} - {sentence}")
        for problem in problems:
            print(f"#   {problem}")
        self.bad = self.bad or bool(problems)

    def end(self):
        sys.exit(1 if self.bad else 0)
