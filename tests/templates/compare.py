"""Compares what the server sends to models with what transformers renders: every template with every conversation, byte for byte.

`compare.py TEMPLATES WORK` prints a table of the outcomes and the differences that documented.json doesn't explain; any of them is exit 1.
"""
import json
import pathlib
import re
import sys

import report
import served
from conversations import CONVERSATIONS
from reference import ContentForm, Reference, changed, needless_form, roles_of, seen, variables, variants

BATCH = 40
HERE = pathlib.Path(__file__).resolve().parent


def render_all(templates, index, work):
    """Returns transformers' text or error for each pair, and writes them to WORK/reference.jsonl for other programs."""
    reference, rendered = Reference(), {}
    with open(work / "reference.jsonl", "w") as file:
        for name, special in index.items():
            for id, body in CONVERSATIONS.items():
                given = variables(body, special)
                output = reference.render(templates[name], given)
                rendered[name, id] = output
                shown = {"output": output} if isinstance(output, str) else {"error": f"{type(output).__name__}: {output}"}
                file.write(json.dumps({"template": name, "conversation": id, "variables": seen(given), **shown}, ensure_ascii=False) + "\n")
    return rendered


def serve_all(templates, index, work):
    """Returns the server's text or refusal for each pair, the changes of each template, and the reasons of those that aren't served."""
    answers, fits, unserved = {}, {}, {}
    literals = {name: served.make_model(work / "models" / name, templates[name], index[name]) for name in index}
    waiting = list(index)
    while waiting:
        batch, waiting = waiting[:BATCH], waiting[BATCH:]
        server = served.Server(work / "models", batch)
        if server.address is None:
            bad = server.culprit(batch)
            unserved[bad] = server.lines()[-1]
            waiting = [name for name in batch if name != bad] + waiting
            continue
        for name in batch:
            for id, body in CONVERSATIONS.items():
                answers[name, id] = ask(server, name, body, literals[name])
        server.stop()
        fits |= server.fits()
    return answers, fits, unserved


def ask(server, name, body, literals):
    """Returns the prompt's text. In one whose request can't have spelt any of the literals, each must be a control token."""
    try:
        ids = server.post("/tokenize", {"model": name, **body})["tokens"]
    except served.Refused as refusal:
        return refusal
    text = served.text_of(ids, literals)
    if not any(may_spell(body, literal) for literal in literals) and ids != served.ids_of(text, literals):
        return OtherTokens(text)
    return text


def may_spell(body, literal):
    """Whether a request has a literal, or the key that a template writes in angle brackets."""
    sent = json.dumps(body, ensure_ascii=False)
    return literal in sent or re.search(rf'"{re.escape(literal.strip("</>"))}\\?"', sent)


class OtherTokens(str):
    """A prompt in which some of the template's control tokens came as text."""


def text_as_part(render, body, ours):
    """Returns the reference with lists of parts if the last message's text is in it and isn't in our text."""
    text = body["messages"][-1]["content"]
    if not isinstance(text, str) or text.strip() in ours:
        return None
    listed = render([ContentForm("parts", roles_of(body))])
    return listed if isinstance(listed, str) and text.strip() in listed else None


def outcome(reference, template, given, body, sent, ours, fit):
    """Returns the outcome of one pair, and what it is about: the changes, the messages or the two texts."""
    render = lambda changes: reference.render(template, changed(given, body, changes))
    if isinstance(ours, served.Refused):
        if ours.status >= 500:
            return "server error", ours.message
        if any(isinstance(render(changes), str) for changes in variants(template, body, fit) if not any(map(is_one_part, changes))):
            return "we refuse", ours.message
        return "refused by both", f"{ours.message} | {sent}"
    if isinstance(ours, OtherTokens):
        return "other tokens", "control tokens of the template are text"
    if listed := text_as_part(render, body, ours):
        return "text lost", (listed, ours)
    if ours == sent:
        return "equal", ""
    best, closest = -1, sent
    for changes in variants(template, body, fit):
        text = render(changes)
        if text == ours:
            role = needless_form(render, changes, body, ours)
            names = ", ".join(change.__name__ for change in changes)
            return ("needless change", f"{names}: {role}") if role else ("equal after changes", names)
        if isinstance(text, str) and (common := report.common(text, ours)) > best:
            best, closest = common, text
    if isinstance(closest, Exception):
        return "reference refuses", str(closest)
    return "different", (closest, ours)


def is_one_part(change):
    return isinstance(change, ContentForm) and change.name == "one part"


def main(folder, work):
    work.mkdir(parents=True, exist_ok=True)
    index = json.loads((folder / "index.json").read_text())
    templates = {name: (folder / f"{name}.jinja").read_bytes().decode() for name in index}
    rendered = render_all(templates, index, work)
    answers, fits, unserved = serve_all(templates, index, work)
    reference, found = Reference(), []
    for (name, id), sent in rendered.items():
        body = CONVERSATIONS[id]
        if name in unserved:
            result = ("not served", unserved[name])
        else:
            given = variables(body, index[name])
            result = outcome(reference, templates[name], given, body, sent, answers[name, id], fits.get(name, ()))
        found.append((name, id, *result))
    return report.write(found, templates, json.loads((HERE / "documented.json").read_text()), work)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
