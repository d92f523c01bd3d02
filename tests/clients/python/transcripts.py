"""Outputs of the scripted model, and the items that clients must see."""
import json

TOOLS = {
    name: {
        "name": name,
        "description": f"{name} of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    }
    for name in ("get_weather", "get_time")
}
RESPONSES_TOOLS = [{"type": "function", "strict": False, **tool} for tool in TOOLS.values()]
MESSAGES_TOOLS = [{k: v for k, v in tool.items() if k != "parameters"} | {"input_schema": tool["parameters"]} for tool in TOOLS.values()]
CHAT_TOOLS = [{"type": "function", "function": tool} for tool in TOOLS.values()]


def call(name, **arguments):
    body = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>\n{body}\n</tool_call>"


# reasoning → text → tool → text → tool
INTERLEAVED = (
    "<think>\nTwo things are asked: weather and time in Zürich 🏔.\n</think>\n\nFirst the weather.\n"
    + call("get_weather", city="Zürich")
    + "\nThen the time, \"local\".\n"
    + call("get_time", city="Zürich 🏔")
)
INTERLEAVED_ITEMS = [
    ("reasoning", "Two things are asked: weather and time in Zürich 🏔."),
    ("message", "First the weather."),
    ("function_call", "get_weather", {"city": "Zürich"}),
    ("message", 'Then the time, "local".'),
    ("function_call", "get_time", {"city": "Zürich 🏔"}),
]
STEPS = {"one": 1, "two": 2, "three": 3, "eight": 8, "all": 0}


PATCH = '*** Begin Patch\n*** Update File: "a\\b.txt"\n+é🏔\t!\n*** End Patch\n'
PATCH_TOOL = {"type": "custom", "custom": {"name": "apply_patch", "description": "Edits files.", "format": {"type": "text"}}}


def rules():
    """Returns replay rules, one for each grouping of tokens into engine steps; the user's text selects the rule."""
    steps = [
        {"when": {"contains": f"steps {name}"}, "text": INTERLEAVED, "tokens_per_step": size}
        for name, size in STEPS.items()
    ]
    patch = call("apply_patch", input=PATCH)
    patches = [
        {"when": {"contains": f"patch {name}"}, "text": patch, "tokens_per_step": size}
        for name, size in STEPS.items()
    ]
    return steps + patches + [
        {"when": {"contains": "think one"}, "text": "<think>\nThe colour is mauve.\n</think>\n\nI know."},
        {"when": {"contains": "namespaced"}, "text": call("files__read")},
        {"when": {"last_role": "tool"}, "text": "All done."},
    ]


def simple(item):
    """Returns an item of Responses as a tuple to compare."""
    if item.type == "reasoning":
        return ("reasoning", "".join(part.text for part in item.content or []))
    if item.type == "message":
        return ("message", "".join(part.text for part in item.content))
    return ("function_call", item.name, json.loads(item.arguments))


IDS = {"id", "call_id", "item_id", "response_id", "created_at", "completed_at", "created", "obfuscation"}


def masked(value):
    """Returns JSON without ids and times."""
    if isinstance(value, dict):
        return {key: masked(inner) for key, inner in value.items() if key not in IDS}
    if isinstance(value, list):
        return [masked(inner) for inner in value]
    return value
