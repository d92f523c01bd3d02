"""Compares which of vLLM's own tests pass on its parsers and on ours: `compare.py THEIRS.xml OURS.xml [--page]`, or `--files` for the tests' files.

Fails where a test that theirs pass fails on ours and isn't in differences.json, or passes and is, and where docs/conformance.md says otherwise: `--page`
writes that again.
"""
import collections
import json
import os
import pathlib
import re
import sys
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from page import OWN, PAGE

EXPECTED = json.loads((HERE / "differences.json").read_text())
SECTION = OWN + """`tests/peers/parsers/vllm_tests/run.sh` runs tests of vLLM {version} twice: on its parsers, and on ours behind the same names, by the class that the Python package makes for vLLM. They are those of formats that ours read,
as far as they need no model's own tokenizer. Where a test is of a parser for reasoning or for calls alone, ours reads both, and gives what that one is asked for.

<!-- vllm-tests -->
{counts}
<!-- end -->

What ours don't pass, and why; the script fails where one of these passes, or another one fails:

| tests | | why |
|---|---|---|
{reasons}

{cannot} more tests fail on vLLM's own parsers there. {why}
"""


def outcomes(path):
    """Whether each test of a report passed; skipped ones are left out."""
    made = {}
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        kinds = {child.tag for child in case}
        if "skipped" not in kinds:
            place = [part for part in case.get("classname").split(".") if part.startswith(("test_", "Test"))]
            made["::".join([*place, case.get("name")])] = not kinds & {"failure", "error"}
    return made


def judge(theirs, ours):
    """Counts of each file, how many tests each difference has, and what is wrong."""
    counts, wrong, used = collections.defaultdict(collections.Counter), [], collections.Counter()
    for test, passes in theirs.items():
        count = counts[test.partition("::")[0]]
        if not passes:
            count["cannot"] += 1
            continue
        reasons = [pattern for pattern in EXPECTED["differences"] if re.fullmatch(pattern, test)]
        used.update(reasons)
        count.update(theirs=1, ours=ours[test])
        if ours[test] == bool(reasons):
            wrong.append(f"{test} {'passes, and a difference is expected' if ours[test] else 'fails'}")
    return counts, used, wrong + [f"no test is {pattern}" for pattern in EXPECTED["differences"] if not used[pattern]]


def main():
    if sys.argv[1:] == ["--files"]:
        return print(*EXPECTED["files"], sep="\n")
    theirs, ours = map(outcomes, sys.argv[1:3])
    if theirs.keys() != ours.keys():
        sys.exit(f"these tests ran on one side alone: {sorted(theirs.keys() ^ ours.keys())}")
    counts, used, wrong = judge(theirs, ours)
    total = sum(counts.values(), collections.Counter())
    if total["cannot"] != EXPECTED["cannot_run"]["tests"]:
        wrong.append(f"{total['cannot']} tests fail on vLLM's own parsers")
    rows = [(f"`{file}`", count) for file, count in sorted(counts.items())] + [("all", total)]
    table = ["| tests | vLLM's pass | ours pass |", "|---|---|---|"] + [f"| {name} | {count['theirs']} | {count['ours']} |" for name, count in rows]
    print(*table, *wrong, sep="\n")
    if wrong:
        sys.exit(1)
    reasons = "\n".join(f"| `{pattern.replace('.*', '*')}` | {used[pattern]} | {why} |" for pattern, why in EXPECTED["differences"].items())
    version, cannot = os.environ["VLLM_SOURCES"].rpartition("==")[2], EXPECTED["cannot_run"]
    made = SECTION.format(version=version, counts="\n".join(table), reasons=reasons, cannot=cannot["tests"], why=cannot["why"])
    page = PAGE.read_text().partition(OWN)
    if "--page" in sys.argv:
        PAGE.write_text(page[0].rstrip("\n") + "\n\n" + made)
    elif "".join(page[1:]) != made:
        sys.exit(f"{PAGE.name} says otherwise: run.sh --page writes it again")


if __name__ == "__main__":
    main()
