"""Writes docs/conformance.md from what conformance.py found, and reasons.json: `page.py RESULTS --page`. With `--check` it fails if the page says otherwise.
The page's end, from `OWN` on, is that of vllm_tests/compare.py.

Every server that loses turns of a template needs a reason there, and every reason a loss.
"""
import json
import pathlib
import sys

from conformance import HERE

PAGE = HERE.parents[2] / "docs/conformance.md"
SERVERS = {"vllm": "vLLM", "sglang": "SGLang", "transformers": "transformers", "smg": "smg", "symphony": "Symphony", "dynamo": "Dynamo", "dynamo-v2": "Dynamo 2"}
OWN = "## vLLM's own tests of its parsers\n"
HEAD = """# Which servers' parsers read what chat templates write
Written by `tests/peers/parsers/run.sh` ([how](../tests/peers/parsers/README.md)). Published chat templates write [probes](parser-fit.md): turns with texts, reasoning, calls and values that are hard to write. The
parsers of each server read them, each turn whole and as a stream. So nobody's taste decides what is right: the vendor's template wrote it, and it has to come back.

A turn is read if reasoning, message and calls come back: names exact, arguments equal as JSON values, white space at the ends of texts aside. A cell has the turns read whole and those read as a stream, one number if
they are the same. A dash: the server has no parser by the model's name, or it can't run here (below).

Versions: {versions}. Of smg, `tool-parser` and `reasoning-parser` are what it takes by default, and Symphony (`smg-symphony`) what `--parser symphony` takes. Of Dynamo, `dynamo-parsers` is the
default but for Muse Glimmer and DeepSeek V4.1, and Dynamo 2 (`dynamo-parsers-v2`) what `DYN_PARSER_VERSION=2` takes.
"""
CHOICE = """
How the templates were chosen: of those that four packages ship ([which](../tests/templates/README.md)) one of each generation of models, if a parser of ours [fits](fitted.md) and one of the others has a parser by that
model's name. Our column is full for that reason. Of the nine templates with calls that no parser of ours fits, six prove nothing of any, and none of the others documents a parser of Reka Edge, Functionary 3.2 and Qwen1.5.

What can't run here: vLLM's parser of Mistral needs Mistral's own tokenizer, and that of Hy3 settings of the model's tokenizer. smg reads gpt-oss outside of its parsers' crates.
transformers has templates of responses for few models: its own of `transformers serve`, and TRL's for the chat templates that TRL ships (the rows `trl-…`). Ours, which are such templates, too, aren't used.

Templates show history. What models write wrongly is in each parser's [cases](cases.md), and no part of this.
"""


def load(folder):
    """Returns the results of each server, and the templates' names."""
    results = {peer: json.loads((folder / f"{peer}.json").read_text()) for peer in SERVERS}
    rows = {name: row for result in results.values() for name, row in result["templates"].items()}
    return results, {name: rows[name] for name in json.loads((HERE / "peers.json").read_text())}


def cell(row):
    """Returns what a server reads of a template."""
    if row is None:
        return "–"
    counts = [row["turns"] - len(row[way]) for way in ("whole", "streamed")]
    return f"{counts[0]}" if counts[0] == counts[1] else f"{counts[0]}, {counts[1]}"


def total(results):
    """Returns what a server reads of all templates."""
    rows = results["templates"].values()
    turns = sum(row["turns"] for row in rows)
    counts = [turns - sum(len(row[way]) for row in rows) for way in ("whole", "streamed")]
    return f"{counts[0]}, {counts[1]} of {turns}"


def losses(results):
    """Yields server, template and the turns that aren't read: those of both ways, and those of one."""
    for peer, result in results.items():
        for name, row in result["templates"].items():
            whole, streamed = row["whole"], row["streamed"]
            both = [turn for turn in whole if turn in streamed]
            alone = {"whole": [turn for turn in whole if turn not in both], "streamed": [turn for turn in streamed if turn not in both]}
            parts = [names(both, row["turns"])] if both else []
            parts += [f"{way}: {names(turns, row['turns'])}" for way, turns in alone.items() if turns]
            if parts:
                yield peer, name, "; ".join(parts)


def names(turns, of):
    """Returns the names of turns, or their number."""
    return " ".join(turns) if len(turns) <= 8 else f"{len(turns)} of {of}"


def reasons(found):
    """Returns the reasons for each loss."""
    whys, known = {}, {(peer, name) for peer, name, _ in found}
    for reason in json.loads((HERE / "reasons.json").read_text()):
        explained = [(reason["server"], name) for name in reason["templates"]]
        if unknown := [key for key in explained if key not in known]:
            sys.exit(f"reasons.json explains what isn't lost: {unknown}")
        for key in explained:
            whys.setdefault(key, []).append(reason["why"])
    if missing := [f"{peer} {name}" for peer, name, _ in found if (peer, name) not in whys]:
        sys.exit("reasons.json has no reason for:\n" + "\n".join(missing))
    return whys


def page(results, templates):
    """Returns the page."""
    versions = ", ".join(f"{title} {results[peer]['version']}" for peer, title in SERVERS.items())
    lines = [HEAD.format(versions=versions), "<!-- read -->"]
    lines += [f"| template | our parser | turns | Sluice | {' | '.join(SERVERS.values())} |", "|---" * (4 + len(SERVERS)) + "|"]
    for name, row in templates.items():
        cells = [cell(results[peer]["templates"].get(name)) for peer in SERVERS]
        lines.append(f"| `{name}` | `{row['ours']}` | {row['turns']} | {row['turns'] - row['differ']} | {' | '.join(cells)} |")
    turns, ours = (sum(value) for value in zip(*((row["turns"], row["turns"] - row["differ"]) for row in templates.values())))
    lines.append(f"| all | | {turns} | {ours} | {' | '.join(total(results[peer]) for peer in SERVERS)} |")
    lines += ["<!-- end -->", CHOICE, "## What isn't read, and why", "<!-- reasons -->", "| server | template | turns | why |", "|---|---|---|---|"]
    found = list(losses(results))
    whys = reasons(found)
    lines += [f"| {SERVERS[peer]} | `{name}` | {turns} | {' '.join(whys[peer, name])} |" for peer, name, turns in found]
    return "\n".join([*lines, "<!-- end -->"]) + "\n\n" + "".join(PAGE.read_text().partition(OWN)[1:])


def main():
    text = page(*load(pathlib.Path(sys.argv[1])))
    if "--page" in sys.argv:
        PAGE.write_text(text)
    if "--check" in sys.argv and PAGE.read_text() != text:
        sys.exit(f"{PAGE.name} says otherwise: run.sh --page writes it again")


if __name__ == "__main__":
    main()
