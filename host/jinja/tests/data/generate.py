"""Renders each template of features.py with variables.json as transformers does and writes features.jsonl.

Invariant: the output depends on nothing but the list, the variables and the versions pinned below.
"""

import json
import pathlib
import sys

import jinja2
import transformers
from transformers.utils.chat_template_utils import _compile_jinja_template

import features

HERE = pathlib.Path(__file__).parent
TRANSFORMERS, JINJA = "5.24.0", "3.1.6"


def check_versions():
    if (transformers.__version__, jinja2.__version__) != (TRANSFORMERS, JINJA):
        sys.exit(f"needs transformers {TRANSFORMERS} and jinja2 {JINJA}")


def variables_of(entry):
    """A fresh copy, so that no template sees what another did."""
    variables = json.loads((HERE / "variables.json").read_text(encoding="utf-8"))
    return variables | json.loads(json.dumps(entry.get("with", {})))


def outcome(template, variables):
    try:
        compiled = _compile_jinja_template(template)
    except (jinja2.TemplateSyntaxError, SyntaxError):
        return {"error": "syntax"}
    try:
        return {"output": compiled.render(variables)}
    except Exception as error:
        # `raise_exception` raises the base class itself, jinja's own errors are subclasses of it.
        if type(error) is jinja2.TemplateError:
            return {"error": f"raised: {error.message}"}
        return {"error": "runtime"}


def main():
    check_versions()
    seen = set()
    with open(HERE / "features.jsonl", "w", encoding="ascii") as out:
        for entry in features.ENTRIES:
            key = json.dumps([entry["template"], entry.get("with")])
            if key in seen:
                sys.exit(f"twice in the list: {entry['template']!r}")
            seen.add(key)
            first, second = (outcome(entry["template"], variables_of(entry)) for _ in range(2))
            if first != second or " at 0x" in first.get("output", ""):
                sys.exit(f"not deterministic: {entry['template']!r}")
            out.write(json.dumps(entry | first) + "\n")
    print(len(features.ENTRIES), "templates")


if __name__ == "__main__":
    main()
