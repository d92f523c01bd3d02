"""Compares which of vLLM's own tests pass on its parsers and on ours: `compare.py THEIRS.xml OURS.xml`, or `--files` for the tests' files.

Fails where a test that theirs pass fails on ours and isn't in differences.json, or passes and is.
"""
import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

EXPECTED = json.loads((pathlib.Path(__file__).resolve().parent / "differences.json").read_text())


def outcomes(path):
    """Whether each test of a report passed; skipped ones are left out."""
    made = {}
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        kinds = {child.tag for child in case}
        if "skipped" not in kinds:
            place = [part for part in case.get("classname").split(".") if part.startswith(("test_", "Test"))]
            made["::".join([*place, case.get("name")])] = not kinds & {"failure", "error"}
    return made


def main():
    if sys.argv[1:] == ["--files"]:
        return print(*EXPECTED["files"], sep="\n")
    theirs, ours = map(outcomes, sys.argv[1:])
    assert theirs.keys() == ours.keys(), theirs.keys() ^ ours.keys()
    counts, wrong, used = collections.defaultdict(collections.Counter), [], collections.Counter()
    for test, passes in theirs.items():
        file = test.partition("::")[0]
        if not passes:
            counts[file]["theirs_fail"] += 1
            continue
        reasons = [pattern for pattern in EXPECTED["differences"] if re.fullmatch(pattern, test)]
        used.update(reasons)
        counts[file]["theirs"] += 1
        counts[file]["ours"] += ours[test]
        if ours[test] == bool(reasons):
            wrong.append(f"{test} {'passes, and a difference is expected' if ours[test] else 'fails'}")
    wrong += [f"no test is {pattern}" for pattern in EXPECTED["differences"] if not used[pattern]]
    cannot = sum(count["theirs_fail"] for count in counts.values())
    if cannot != EXPECTED["cannot_run"]["tests"]:
        wrong.append(f"{cannot} tests fail on vLLM's own parsers here")
    print("| tests | vLLM's pass | ours pass |\n|---|---|---|")
    for file, count in sorted(counts.items()):
        print(f"| `{file}` | {count['theirs']} | {count['ours']} |")
    total = sum(counts.values(), collections.Counter())
    print(f"| all | {total['theirs']} | {total['ours']} |")
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
