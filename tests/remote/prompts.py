"""Conversations for qwen3-tiny, as requests of each protocol."""
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
CALCULATE = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"], "additionalProperties": False}
TOOLS = [("get_weather", "Current weather of a city.", WEATHER), ("calculate", "Computes an expression.", CALCULATE)]
PERSON = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "is_adult": {"type": "boolean"}},
          "required": ["name", "is_adult"], "additionalProperties": False}
# (name of the case, the user's message, whether there are tools)
SAID = [
    ("a greeting", "Hello!", False),
    ("small talk", "Who are you?", False),
    ("what it doesn't know", "Explain Gödel's second theorem, 日本語で, in \"three\" steps.", False),
    ("a call", "What is the weather in Lisbon?", True),
    ("two calls, a character of several tokens", "What is the weather in Paris and in São Paulo?", True),
    ("tools that aren't needed", "Hello!", True),
    ("another tool", "What is 12 * 7?", True),
]
# Settings of a Chat request, by name of the case.
SETTINGS = {
    "stop strings": {"stop": [" model", "zzz"]},
    "no reasoning": {"chat_template_kwargs": {"enable_thinking": False}},
    "two choices": {"n": 2},
    "log-probabilities": {"logprobs": True, "top_logprobs": 2},
    "a bias": {"logit_bias": {"707": -100}, "max_tokens": 40},
    "a penalty on repetition": {"repetition_penalty": 1.3},
    "the likeliest token alone, warm": {"top_k": 1, "temperature": 1},
    "a limit": {"max_tokens": 5},
}
# Blanks are banned, since the model would write them up to the limit where a grammar allows them.
COMPACT = {"logit_bias": {"198": -100, "220": -100}}
# Schemas that compilers of engines pass over in part: by keyword the schema, and whether a value satisfies it.
WEAK = {
    "uniqueItems": ({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 1}, "uniqueItems": True, "minItems": 2},
                    lambda value: len(set(value)) == len(value)),
    "multipleOf": ({"type": "integer", "multipleOf": 7}, lambda value: value % 7 == 0),
    "patternProperties": ({"type": "object", "patternProperties": {"^": {"type": "integer"}}},
                          lambda value: all(isinstance(one, int) for one in value.values())),
    "contains": ({"type": "array", "items": {"type": "integer"}, "contains": {"const": 3}}, lambda value: 3 in value),
    "pattern": ({"type": "string", "pattern": "^\\d{3}$"}, lambda value: len(value) == 3 and value.isdigit()),
    "minimum": ({"type": "number", "minimum": 1000}, lambda value: value >= 1000),
    "oneOf": ({"oneOf": [{"type": "integer", "minimum": 1}, {"type": "integer", "maximum": 9}]}, lambda value: not 1 <= value <= 9),
    "required": ({"type": "object", "required": ["name"]}, lambda value: "name" in value),
}
# llama.cpp would count the prompt's tokens, too, so these are refused with it.
PENALTIES = {"presence_penalty": 1.5, "frequency_penalty": 0.5}
TEXTS = {"a text": {"prompt": "Hello"}, "a text and its echo": {"prompt": "Hello", "echo": True}, "ids": {"prompt": [705, 472, 198, 332, 0, 706, 198]},
         "two texts": {"prompt": ["Hello", "Who are"], "n": 2}}


def responses(said, with_tools):
    tools = [{"type": "function", "name": name, "description": what, "parameters": schema, "strict": False} for name, what, schema in TOOLS]
    return {"model": "qwen3-tiny", "input": said, "temperature": 0, "max_output_tokens": 300, "tools": tools if with_tools else []}


def chat(said, with_tools):
    body = {"model": "qwen3-tiny", "messages": [{"role": "user", "content": said}], "temperature": 0, "max_tokens": 300}
    if with_tools:
        body["tools"] = [{"type": "function", "function": {"name": name, "description": what, "parameters": schema}} for name, what, schema in TOOLS]
    return body


def messages(said, with_tools):
    body = {"model": "qwen3-tiny", "messages": [{"role": "user", "content": said}], "temperature": 0, "max_tokens": 300,
            "thinking": {"type": "enabled", "budget_tokens": 200}}
    if with_tools:
        body["tools"] = [{"name": name, "description": what, "input_schema": schema} for name, what, schema in TOOLS]
    return body


def chat_with_results(first):
    """Returns the request after `first`, a folded Chat answer with calls, whose results it sends back."""
    calls = [item for item in first["items"] if item[0] == "call"]
    body = chat("What is the weather in Paris and in São Paulo?", True)
    body["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, (_, name, arguments) in enumerate(calls)]},
        *({"role": "tool", "tool_call_id": f"call_{i}", "content": '{"temperature": 21, "sky": "sunny"}'} for i in range(len(calls))),
    ]
    return body
