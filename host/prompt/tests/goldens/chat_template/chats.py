"""The chats of the goldens: name -> (messages, tools, template arguments)."""


def user(text):
    return {"role": "user", "content": text}


def system(text):
    return {"role": "system", "content": text}


def assistant(text, reasoning=None, calls=()):
    message = {"role": "assistant", "content": text}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = list(calls)
    return message


def call(name, **arguments):
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def result(text, **more):
    return {"role": "tool", "content": text} | more


def tool(name, description, properties, required=(), **more):
    parameters = {"type": "object", "properties": properties, "required": list(required)} | more
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


CITY = {"city": {"type": "string", "description": "The city name"}}
WEATHER = tool("get_weather", "Get the current weather", CITY, ["city"])
TIME = tool("get_time", "Get the local time", CITY, ["city"], additionalProperties=False)
NESTED = tool(
    "book_trip",
    "Réserve un voyage – 旅行を予約する 🧳\nSecond line with <b>markup</b> & 'quotes' and \"more\".",
    {
        "from": {"type": "string", "description": "Départ (café ☕)"},
        "stops": {
            "type": "array",
            "description": "Places on the way,\n  in order",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "nights": {"type": "integer", "minimum": 0, "maximum": 30, "default": 1},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["name"],
            },
        },
        "class": {"type": "string", "enum": ["first", "second", "木"], "default": "second"},
        "budget": {"type": "number", "default": 99.5, "nullable": True},
        "refundable": {"type": "boolean", "default": False},
        "extra": {"oneOf": [{"type": "string"}, {"type": "number"}], "default": None},
        "code": {"type": ["string", "null"]},
        "free": {"type": "object"},
    },
    ["from", "stops"],
    additionalProperties=False,
)
NUMBERS = tool(
    "measure",
    "Numbers of every kind",
    {
        "x": {"type": "number", "minimum": -2.25, "maximum": 1e16, "multipleOf": 0.00001},
        "n": {"type": "integer", "enum": [0, -1, 9007199254740993, 1.0, 0.1, 1e22, 1.5e-7]},
        "flag": {"type": "boolean", "default": True},
        "nothing": {"default": None, "examples": [None, True, False, [], {}, ""]},
    },
    ["x"],
)
NO_FIELDS = {"type": "object", "properties": {}}
BARE = {"type": "function", "function": {"name": "ping", "parameters": NO_FIELDS}}
STRICT = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": None,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        "strict": True,
    },
}

ASKED = user("What is the weather in Oslo?")
IN_OSLO = call("get_weather", city="Oslo")
CALLED = assistant("", "The user wants the weather in Oslo. I call get_weather.", [IN_OSLO])
COLD = result('{"temperature": -4, "condition": "snowy"}')
PARALLEL = assistant("", None, [IN_OSLO, call("get_weather", city="São Paulo")])
BOOKED = call(
    "book_trip",
    **{
        "from": "Łódź \"x\"", "stops": [{"name": "京都", "nights": 2, "tags": []}], "budget": 120.5,
        "refundable": True, "extra": None, "free": {},
    },
)
LONG = "line one\n\n" + "wind and rain " * 8 + "\nthe end"

CHATS = {
    "user": ([user("Hello!")], None, {}),
    "system-user": ([system("You are a helpful assistant."), user("Hello!")], None, {}),
    "multi-turn": (
        [
            user("Hi"), assistant("Hi! What can I do for you?"), user("Thanks!"),
            assistant("You are welcome!"), user("Bye"),
        ],
        None, {},
    ),
    "thinking-on": ([user("Who are you?")], None, {"enable_thinking": True}),
    "thinking-off": ([user("Who are you?")], None, {"enable_thinking": False}),
    "old-reasoning": (
        [user("Who are you?"), assistant("A tiny test model.", "This is small talk."), user("And now?")],
        None, {},
    ),
    "whitespace": (
        [system("  Be brief. \n"), user("\n\n a  b\tc \n"), assistant(" x \n"), user(" ")], None, {},
    ),
    "unicode": (
        [
            system("Réponds en français."),
            user("Grüße aus 東京, Ελλάδα и Москвы — naïve café № ½ ¿qué?"),
        ],
        None, {},
    ),
    "emoji": (
        [
            user("👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇳🇴 ❤️ 😀😀"), assistant("👋"),
            user("e\u0301 n\u0303 o\u0308\u0323 \u200d ก็ 각 \u1112\u1161\u11ab"),
        ],
        None, {},
    ),
    "tools": ([ASKED], [WEATHER, TIME], {}),
    "tools-system-no-thinking": (
        [system("Use tools when you need them."), ASKED], [WEATHER], {"enable_thinking": False},
    ),
    "nested-schema": ([user("Book a trip to 京都, please.")], [NESTED, WEATHER], {}),
    "number-schema": ([user("Measure it.")], [NUMBERS, BARE], {}),
    "strict-schema": ([ASKED], [STRICT], {}),
    "call": ([ASKED, CALLED, COLD], [WEATHER, TIME], {}),
    "call-without-reasoning": ([ASKED, assistant("", None, [IN_OSLO]), COLD], [WEATHER], {}),
    "call-with-content": (
        [ASKED, assistant("Let me look.", "\nI call it.\n", [IN_OSLO]), COLD], [WEATHER], {},
    ),
    "parallel-calls": (
        [user("Weather in Oslo and São Paulo?"), PARALLEL, COLD, result("sunny, 30 degrees")],
        [WEATHER, TIME], {"enable_thinking": True},
    ),
    "second-request": (
        [ASKED, CALLED, COLD, assistant("It is snowy with -4 degrees in Oslo.", "The tool says so."),
         user("What time is it there?")],
        [TIME, WEATHER], {"enable_thinking": False},
    ),
    "long-result": ([ASKED, CALLED, result(LONG)], [WEATHER], {}),
    "arguments": (
        [
            user("Book it."),
            assistant("", "I book.", [BOOKED, call("ping")]),
            result("ok"), result(""),
        ],
        [NESTED, BARE], {},
    ),
    "two-rounds": (
        [
            ASKED, CALLED, COLD,
            assistant("", "Now the time.", [call("get_time", city="Oslo")]), result("12:30"),
        ],
        [WEATHER, TIME], {},
    ),
}

PARTS = [
    {"type": "text", "text": "one "}, {"type": "image", "image": "none"}, {"type": "text", "text": "two"},
]
INLINE = "<think>\nInline thought.\n</think>\n\nThe answer."
# Chats for the template of that name only.
MORE = {
    "thinking": {
        "content-parts": ([{"role": "user", "content": PARTS}], None, {}),
        "inline-reasoning": ([user("a"), assistant(INLINE), user("b"), assistant(INLINE)], None, {}),
        "system-later": ([system("One. "), user("a"), system("Two.\n"), user("b")], None, {}),
        "error-no-query": ([system("Alone.")], None, {}),
        "error-role": ([user("a"), {"role": "critic", "content": "b"}], None, {}),
    },
    "typescript": {
        "effort": ([system("Be brief."), user("Hi")], None, {"reasoning_effort": "high"}),
        "named-result": ([ASKED, CALLED, result("cold", name="get_weather")], [WEATHER], {}),
        "error-result-first": ([user("a"), result("b")], None, {}),
        "error-markers": ([user("a"), assistant("x<|channel|>y"), user("b")], None, {}),
    },
    "qwen3-tiny": {},
}


def with_ids(messages):
    """Returns messages whose calls and results have the ids of Kimi K2, which its template writes."""
    out, ids, answered = [], [], 0
    for message in messages:
        calls = [c | {"id": f"functions.{c['function']['name']}:{len(ids) + i}"}
                 for i, c in enumerate(message.get("tool_calls", []))]
        ids += [c["id"] for c in calls]
        if message["role"] == "tool":
            message, answered = message | {"tool_call_id": ids[answered]}, answered + 1
        out.append(message | ({"tool_calls": calls} if calls else {}))
    return out
