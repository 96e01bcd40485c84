#!/usr/bin/env python3
"""advise on a terminal: a person answers some questions, takes the rest as proposed, and has a record. Prints TAP lines."""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

HOLDFAST = os.environ["HOLDFAST"]
failures = 0


def check(sentence, good, seen=""):
    global failures
    print(f"{'ok' if good else 'not ok'} - {sentence}")
    if not good:
        failures += 1
        print("#   " + seen[-2000:].replace("\n", "\n#   "))


def talk(folder, answers, arguments=()):
    """Answers questions by words in them (a list: one after the other), all others with Enter: what was shown, the questions, and the
    exit code. None: end of input."""
    master, slave = pty.openpty()
    process = subprocess.Popen([HOLDFAST, "advise", *arguments], stdin=slave, stdout=slave, stderr=slave, cwd=folder, start_new_session=True)
    os.close(slave)
    seen, questions, done, end = "", [], 0, time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([master], [], [], 0.1)[0]:
            continue
        try:
            seen += os.read(master, 65536).decode()
        except OSError:
            break
        prompt = re.search(r"\n([A-Z][^\n]*\?[^\n]*)\r?\n(?:(?!\n\n).)*\[[^\n]*\] $", seen[done:], re.S)
        if not prompt:
            continue
        questions.append(prompt.group(1).strip())
        done = len(seen)
        answer = next((a for words, a in answers.items() if words in questions[-1]), "")
        if isinstance(answer, list):
            answer = answer.pop(0)
        os.write(master, b"\x04" if answer is None else answer.encode() + b"\n")
    os.close(master)
    return seen, questions, process.wait(20)


with tempfile.TemporaryDirectory() as folder:
    seen, questions, code = talk(folder, {"kinds of records": "policy", "people edit at the same time": "20", "many minutes does an edit": "60",
                                          "it take to do it again": "75", "must those who only read": "no", "edited together": "coverage, endorsement"})
    check("a person answers and has a record", code == 0 and "Wrote the record to policy-decision.md" in seen, seen)
    check("in few questions", 18 <= len(questions) <= 23, str(questions))
    check("the decision is summed up first", "Decision: " in seen and "Certainty: " in seen, seen)
    record = open(f"{folder}/policy-decision.md").read()
    check("what was typed is an expert's", "| edit_minutes | 60 minutes | expert |" in record, record)
    check("what was not is assumed", "| records | 1000 | assumed |" in record, record)
    check("each question says why it matters", "Collisions grow with their number." in seen, seen)

    seen, questions, code = talk(folder, {"kinds of records": "policy", "which file": ["", "other.md"]})
    check("a file that is there is not written over", "policy-decision.md already exists; name another file." in seen, seen)

    seen, questions, code = talk(folder, {"span several requests": "no", "which file": "one.md"})
    check("work within one request takes few questions", code == 0 and len(questions) <= 8, str(questions))
    check("and comes to a transaction with its isolation level", "REPEATABLE READ" in open(f"{folder}/one.md").read())

    before = sorted(os.listdir(folder))
    seen, questions, code = talk(folder, {"people edit": ["lots", "0", "7"], "records are there": "q"})
    check("what is not understood is asked again", questions.count("How many people edit at the same time?") == 3, seen)
    seen, questions, code = talk(folder, {"records are there": "q"})
    check("giving up is said", code == 2 and "Cancelled; nothing was written." in seen, seen)
    seen, questions, code = talk(folder, {"records are there": None})
    check("so is the end of input", code == 2 and "The input ended in the middle of the questions; nothing was written." in seen, seen)
    check("and nothing is written", sorted(os.listdir(folder)) == before, str(os.listdir(folder)))

sys.exit(failures > 0)
