"""Writes generated turns with transformers' own reading of each: `sessions.py SEED TURNS TABLE.json… >FILE.json`; see README.md.

A turn is generated from the table itself: delimiters from its patterns, contents by their kinds.
"""
import json
import pathlib
import random
import re._constants as op
import re._parser
import sys

from transformers.utils.chat_parsing import parse_response

TOOLS = {
    "get_weather": {"city": {"type": "string"}, "days": {"type": "integer"}, "near": {"type": "array"}, "exact": {"type": "boolean"}},
    "add": {"a": {"type": "number"}, "b": {"type": "integer"}, "how": {"type": "object"}, "note": {"type": "string"}},
    "ping": {},
}
WORDS = ["Oslo", "Zürich", "😀", "it's", "3 < 4", "a > b", "{x}", "[1]", '"so"', "&", "</b>", "<i>", "e=mc²", "\\n", "no.", "日本"]


def dialect(value, args):
    """JSON, with bare keys and with strings between other delimiters where a table has those."""
    if isinstance(value, dict):
        written = lambda key: key if args.get("unquoted_keys") else json.dumps(key)
        return "{" + ", ".join(f"{written(key)}: {dialect(inner, args)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(dialect(inner, args) for inner in value) + "]"
    if isinstance(value, str) and args.get("string_delims"):
        return args["string_delims"][0][0] + value + args["string_delims"][0][1]
    return json.dumps(value, ensure_ascii=False)


def python(value, random):
    """A Python literal, its strings in quotes of either kind."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{python(key, random)}: {python(inner, random)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(python(inner, random) for inner in value) + "]"
    if isinstance(value, str) and random.random() < 0.5:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


class Turn:
    """A turn being written."""

    def __init__(self, table, seed):
        self.table, self.fields, self.random = table, table["fields"], random.Random(seed)

    def sample(self, regex, **groups):
        """A text that the regular expression matches, with these texts for its named groups."""
        return self.walk(re._parser.parse(regex), re._parser.parse(regex).state.groupdict, groups)

    def walk(self, pattern, names, groups):
        return "".join(self.piece(code, argument, names, groups) for code, argument in pattern)

    def piece(self, code, argument, names, groups):
        if code is op.LITERAL:
            return chr(argument)
        if code is op.BRANCH:
            return self.walk(self.random.choice(argument[1]), names, groups)
        if code in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, inner = argument
            if list(inner) == [(op.IN, [(op.CATEGORY, op.CATEGORY_SPACE)])]:
                return self.random.choice(["", "", "\n"])
            if list(inner) == [(op.LITERAL, ord("\n"))]:
                return "\n"
            return self.walk(inner, names, groups) if least or (most == 1 and self.random.random() < 0.5) else ""
        if code is op.SUBPATTERN:
            name = next((name for name, number in names.items() if number == argument[0]), None)
            return groups[name] if name else self.walk(argument[3], names, groups)
        if code is op.IN and argument == [(op.CATEGORY, op.CATEGORY_SPACE)]:
            return " "
        if code is op.AT:
            return ""
        raise ValueError(f"no sample of {code}")

    def delimiter(self, field, which, **groups):
        if f"{which}_pattern" in field:
            return self.sample(field[f"{which}_pattern"], **groups)
        literal = field.get(which, "")
        return literal if isinstance(literal, str) else self.random.choice(literal)

    def text(self):
        return " ".join(self.random.choices(WORDS, k=self.random.randint(1, 8)) + ["end"])

    def value(self, schema):
        kinds = {
            "string": self.text,
            "integer": lambda: self.random.randint(-9, 10**6),
            "number": lambda: self.random.choice([0.5, -2.25, 17]),
            "boolean": lambda: self.random.random() < 0.5,
            "array": lambda: [self.text(), 1, None, {"k": [True]}],
            "object": lambda: {"mode": self.text(), "of": {"x": [1, 2.5]}},
        }
        return kinds[schema["type"]]()

    def call(self):
        name = self.random.choice(list(TOOLS))
        given = [key for key in TOOLS[name] if self.random.random() < 0.7]
        return name, {key: self.value(TOOLS[name][key]) for key in given}

    def calls(self, field, number):
        """Text of this many calls."""
        calls = [self.call() for _ in range(number)]
        if field["content"] == "python-call-list":
            written = lambda arguments: ", ".join(f"{key}={python(value, self.random)}" for key, value in arguments.items())
            objects = [f"{name}({written(arguments)})" for name, arguments in calls]
            return self.delimiter(field, "open") + "[" + ", ".join(objects) + "]" + self.delimiter(field, "close")
        if field.get("transform_each"):
            objects = [self.object(field, *call) for call in calls]
            return self.delimiter(field, "open") + "[" + ", ".join(objects) + "]" + self.delimiter(field, "close")
        return "".join(self.single(field, *call) for call in calls)

    def single(self, field, name, arguments):
        args = field.get("content_args", {})
        written = lambda value: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if field["content"] == "xml-inline":
            tag = args["tag_pattern"]
            inside = "".join(self.sample(tag, key=key, value=written(value)) for key, value in self.pairs(arguments, args))
        elif field["content"] == "kv-lines":
            key_end, line_end = args.get("kv_sep", ":"), args.get("line_sep", "\n")
            inside = "".join(f"{key}{key_end} {written(value)}{line_end}" for key, value in arguments.items())
        elif field["transform"]["function"] == {"name": "{name}", "arguments": "{content}"}:
            inside = dialect(arguments, args)
        else:
            inside = self.object(field, name, arguments)
        return self.delimiter(field, "open", name=name) + inside + self.delimiter(field, "close")

    def pairs(self, arguments, args):
        """Keys and values; a list is perhaps several values where those are merged."""
        for key, value in arguments.items():
            if isinstance(value, list) and args.get("merge_duplicates") and self.random.random() < 0.7:
                # Its first value doesn't look like the whole list.
                yield from ((key, self.text().lstrip("[")) for _ in range(self.random.randint(2, 4)))
            else:
                yield key, value

    def object(self, field, name, arguments):
        """A call as a JSON object, with the keys that the transform names."""
        function = field["transform"]["function"]
        if function == "{content}":
            function = {"name": "{content.name}", "arguments": "{content.arguments}"}
        keys = {key: path.strip("{}").removeprefix("content.") for key, path in function.items()}
        return json.dumps({keys["name"]: name, keys["arguments"]: arguments}, ensure_ascii=False)

    def region(self, field):
        return self.delimiter(field, "open") + self.text() + self.delimiter(field, "close")

    def write(self):
        """The whole turn: perhaps reasoning, perhaps a message, perhaps calls. A field's last region counts, so there is one message."""
        thinking = next((self.fields[name] for name in self.fields if name.startswith(("reasoning", "thinking"))), None)
        content, calls = self.fields["content"], self.fields.get("tool_calls")
        is_implicit = not ({"open", "open_pattern"} & set(content))
        parts = []
        if thinking and self.random.random() < 0.6:
            parts.append(self.region(thinking))
        if self.random.random() < 0.5:
            parts.append(self.text() if is_implicit else self.region(content))
        if calls and self.random.random() < 0.7:
            parts.append(self.calls(calls, self.random.randint(1, 3)))
        return "".join(parts) + (self.delimiter(content, "close") if is_implicit else "")


def read_table(file):
    """Returns the table of a file that is one, or has one beside its markers."""
    content = json.loads(pathlib.Path(file).read_text())
    return content.get("response_template", content)


def begins_in_a_region(table):
    """Whether a region is open from the beginning: then transformers takes the region's own opening for text."""
    return any("^" in field.get("open_pattern", "").replace("[^", "") for field in table["fields"].values())


def turns(seed, number, file):
    """Yields this many turns of a table."""
    table = read_table(file)
    anchor = table["start_anchor"]
    prompt = anchor if isinstance(anchor, str) else anchor[0]
    tools = [{"type": "function", "function": {"name": name, "parameters": parameters(properties)}} for name, properties in TOOLS.items()]
    for index in range(number):
        output = Turn(table, f"{seed} {pathlib.Path(file).name} {index}").write()
        message = parse_response(output, table, prefix=prompt, tools=tools)
        yield {"table": file, "prompt": prompt, "output": output, "message": message}


def parameters(properties):
    return {"type": "object", "properties": properties}


def main(seed, number, *files):
    print(json.dumps({"tools": {name: parameters(properties) for name, properties in TOOLS.items()}})[:-1] + ', "turns": [')
    files = [file for file in files if not begins_in_a_region(read_table(file))]
    lines = [json.dumps(turn, ensure_ascii=False) for file in files for turn in turns(seed, int(number), file)]
    print(",\n".join(lines) + "\n]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
