"""Table of a comparison's outcomes, and the differences in groups: by what differs, with the templates' lines and the smallest example."""
import collections
import json
import re

GOOD = ("equal", "equal after changes", "refused by both")


def common(a, b):
    """Returns the length of the common prefix."""
    return next((at for at, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def line_of(template, text):
    """Returns the number of the template's line that holds most of the end of `text`, or 0."""
    lines = template.split("\n")
    for length in range(min(40, len(text)), 3, -1):
        end = text[-length:]
        for shown in (end, end.replace("\n", "\\n")):
            for number, line in enumerate(lines, 1):
                if shown in line:
                    return number
    return 0


def shown(text, at):
    """Returns the text around a position."""
    return repr(text[max(0, at - 30):at + 50])


def key_of(outcome, about):
    """Returns the group of a difference."""
    if outcome == "different":
        reference, ours = about
        at = common(reference, ours)
        return outcome, f"transformers {reference[at:at + 4]!r}, ours {ours[at:at + 4]!r}"
    if outcome == "text lost":
        return outcome, "the last message, which the template shows as a part of a list"
    return outcome, re.sub(r"\d+", "N", about)[:200]


def documented(entries, name, id, outcome, about):
    """Returns the index of the entry of the table that explains a difference."""
    detail = about if isinstance(about, str) else "\n".join(key_of(outcome, about))
    for number, entry in enumerate(entries):
        if outcome == entry["outcome"] and all(
            re.search(entry.get(field, ""), value) for field, value in [("templates", name), ("conversations", id), ("detail", detail)]
        ):
            return number
    return None


def write(found, templates, entries, work):
    """Prints the report and returns the exit status. WORK/differences.jsonl gets every difference in full."""
    counts = collections.Counter(outcome for _, _, outcome, _ in found)
    changes = collections.Counter(about for _, _, outcome, about in found if outcome == "equal after changes")
    explained, groups = collections.Counter(), collections.defaultdict(list)
    with open(work / "differences.jsonl", "w") as file:
        for name, id, outcome, about in found:
            if outcome in GOOD:
                continue
            entry = documented(entries, name, id, outcome, about)
            file.write(json.dumps({"template": name, "conversation": id, "outcome": outcome, "about": about, "entry": entry}, ensure_ascii=False) + "\n")
            if entry is None:
                groups[key_of(outcome, about)].append((name, id, about))
            else:
                explained[entry] += 1
    print(f"{len(templates)} templates x {len({id for _, id, _, _ in found})} conversations = {len(found)} pairs")
    for outcome, count in counts.most_common():
        print(f"{count:7} {100 * count / len(found):6.2f} %  {outcome}")
    for title, rows in [("Changes", changes.most_common()), ("Documented differences", [(entries[at]["reason"], count) for at, count in explained.items()])]:
        print(f"\n{title}")
        for text, count in rows:
            print(f"{count:7}  {text}")
    print(f"\nDifferences without an entry: {sum(map(len, groups.values()))} in {len(groups)} groups")
    for (outcome, what), pairs in sorted(groups.items(), key=lambda group: -len(group[1])):
        describe(outcome, what, pairs, templates)
    stale = [entry["reason"] for at, entry in enumerate(entries) if not explained[at]]
    for reason in stale:
        print(f"entry that explains nothing: {reason}")
    return 1 if groups or stale else 0


def describe(outcome, what, pairs, templates):
    """Prints one group of differences."""
    names = sorted({name for name, _, _ in pairs})
    name, id, about = min(pairs, key=lambda pair: len(templates[pair[0]]))
    print(f"\n{outcome}: {what}\n  {len(pairs)} pairs, {len(names)} templates: {', '.join(names[:6])}{' …' if len(names) > 6 else ''}")
    print(f"  conversations: {', '.join(sorted({id for _, id, _ in pairs})[:12])}")
    if isinstance(about, tuple):
        reference, ours = about
        at = common(reference, ours)
        print(f"  {name} x {id}, near line {line_of(templates[name], reference[:at])}:")
        print(f"    transformers {shown(reference, at)}\n    ours         {shown(ours, at)}")
