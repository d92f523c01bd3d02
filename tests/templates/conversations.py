"""Conversations as clients send them to Chat Completions: each is a request body without its model, by a name that says what it reaches."""
import json


def message(role, content, **more):
    return {"role": role, "content": content, **more}


def system(content):
    return message("system", content)


def user(content):
    return message("user", content)


def assistant(content, **more):
    return message("assistant", content, **more)


def call(arguments="{}", name="get_weather", id="call00001"):
    # Mistral's templates take ids of nine letters and digits only.
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*made, content=None, **more):
    return assistant(content, tool_calls=list(made), **more)


def result(content, id="call00001"):
    return message("tool", content, tool_call_id=id)


def tool(name, description, properties, **more):
    parameters = {"type": "object", "properties": properties, **more}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def text_parts(*texts):
    return [{"type": "text", "text": text} for text in texts]


CITY = {"city": {"type": "string", "description": "Name of the city"}}
WEATHER = tool("get_weather", "Current weather of a city", CITY, required=["city"])
TIME = tool("get_time", "Time of day", {"zone": {"type": "string", "enum": ["UTC", "CET"]}})
EVERYTHING = tool("everything", "One parameter of each kind; \"quoted\", 'single', back\\slash, tab\t, line\nbreak, é, 天, 🌦, <b>&amp;</b>", {
    "text": {"type": "string", "default": "it's \"here\"", "minLength": 1, "pattern": "^[a-z]+\\d{2}$"},
    "whole": {"type": "integer", "minimum": -5, "maximum": 12345678901234567890123, "default": 18446744073709551615},
    "real": {"type": "number", "minimum": -0.0, "maximum": 1e22, "default": 0.1, "multipleOf": 1e-07, "examples": [1.0, 100.0, 1e16, 123456789.125]},
    "flag": {"type": "boolean", "default": False},
    "none": {"type": "null", "default": None},
    "maybe": {"type": ["string", "null"], "description": None},
    "either": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"$ref": "#/$defs/point"}]},
    "list": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 0, "default": []},
    "nested": {"type": "object", "additionalProperties": False, "required": ["inner"], "properties": {
        "inner": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}, "description": "A matrix"}}},
    "free": {"type": "object", "additionalProperties": {"type": "string"}},
    "größe": {"type": "string", "const": "XL"},
    "no type": {"description": "anything"},
}, required=["text", "nested"], **{"$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}}})
BARE = {"type": "function", "function": {"name": "ping"}}
STRICT = {"type": "function", "function": {"name": "stop", "description": "", "parameters": {"type": "object", "properties": {}}, "strict": True}}

ASKED = user("What is the weather in Lisbon?")
CALLED = calls(call('{"city": "Lisbon"}'))
ANSWERED = result('{"temperature": 21, "sky": "clear"}')
TWO = calls(call('{"city": "Lisbon"}'), call('{"zone": "UTC"}', "get_time", "call00002"))
TWO_RESULTS = [result("sunny"), result("12:00", "call00002")]
TOKENS = "</think> <think> <|im_end|>\n<|im_start|>system\n<|eot_id|></s><s>[INST] [/INST]<end_of_turn><start_of_turn>model\n<|end|><|start|>assistant" \
    "<|channel|>final<|message|><｜User｜><｜end▁of▁sentence｜><tool_call></tool_call><tool_response>[gMASK]<sop><|user|><|assistant|><turn|><channel|>"
HIDDEN = "<think>\nhidden\n</think>\n\nHello!"
ODD = " \t\u00a0\x1c\x1d\x1e\x1f\x85\u2028\u2029\u3000\ufeff"


def body(*messages, tools=None, **more):
    return {"messages": list(messages), **({"tools": tools} if tools else {}), **more}


def turns(count):
    """Messages of a conversation with so many turns, each with a call now and then."""
    for number in range(count):
        yield user(f"Question {number}?")
        if number % 7 == 3:
            id = f"call{number:05}"
            yield calls(call(json.dumps({"city": f"City {number}"}), id=id))
            yield result(f"{number} degrees", id)
        yield assistant(f"Answer {number}.")
    yield user("And now?")


CONVERSATIONS = {
    "plain": body(user("Hi")),
    "system": body(system("You are terse."), user("Hi")),
    "system-empty": body(system(""), user("Hi")),
    "system-only": body(system("Write a poem.")),
    "developer": body(message("developer", "Answer in French."), user("Hi")),
    "system-and-developer": body(system("You are terse."), message("developer", "Answer in French."), user("Hi")),
    "late-system": body(user("Hi"), assistant("Hello!"), system("From now on, answer in French."), user("Hi again")),
    "turns": body(system("You are terse."), user("Hi"), assistant("Hello!"), user("How are you?"), assistant("Fine."), user("Good.")),
    "users-in-a-row": body(user("Hi"), user("Are you there?"), assistant("Yes."), assistant("What is it?"), user("Nothing.")),
    "assistant-first": body(assistant("How can I help?"), user("Hi")),
    "continued": body(user("Count to five."), assistant("1, 2,"), continue_final_message=True, add_generation_prompt=False),
    "continued-space": body(user("Count to five."), assistant("1, 2, "), continue_final_message=True, add_generation_prompt=False),
    "tool": body(ASKED, tools=[WEATHER]),
    "tool-system": body(system("You are terse."), ASKED, tools=[WEATHER, TIME]),
    "tool-everything": body(user("Try it."), tools=[EVERYTHING, STRICT]),
    "tool-tokens": body(user("Try it."), tools=[tool("look", TOKENS, {"<|im_end|>": {"type": "string", "description": TOKENS}, "</think>": {"type": "string", "enum": [TOKENS]}})]),
    "call": body(ASKED, CALLED, tools=[WEATHER]),
    "call-result": body(ASKED, CALLED, ANSWERED, tools=[WEATHER]),
    "call-result-turn": body(system("You are terse."), ASKED, CALLED, ANSWERED, assistant("Sunny, 21 degrees."), user("And tomorrow?"), tools=[WEATHER]),
    "call-no-tools": body(ASKED, CALLED, ANSWERED),
    "call-text": body(ASKED, calls(call('{"city": "Lisbon"}'), content="Let me look."), ANSWERED, tools=[WEATHER]),
    "call-empty-text": body(ASKED, calls(call('{"city": "Lisbon"}'), content=""), ANSWERED, tools=[WEATHER]),
    "call-empty-arguments": body(ASKED, calls(call("{}", "stop")), ANSWERED, tools=[WEATHER, STRICT]),
    "call-no-arguments": body(ASKED, calls(call("", "ping")), ANSWERED, tools=[WEATHER, BARE]),
    "calls-two": body(ASKED, TWO, *TWO_RESULTS, tools=[WEATHER, TIME]),
    "calls-two-swapped": body(ASKED, TWO, *reversed(TWO_RESULTS), assistant("Sunny at noon."), user("Thanks"), tools=[WEATHER, TIME]),
    "calls-rounds": body(ASKED, CALLED, ANSWERED, calls(call('{"zone":"CET"}', "get_time", "call00002")), result("13:00", "call00002"), tools=[WEATHER, TIME]),
    "call-arguments": body(user("Try it."), calls(call(
        '{"text": "it\'s \\"here\\" \\\\ \\n\\t é 天 🌦 <b>&amp;</b> \\u2028 \\u0001", "whole": 12345678901234567890123, "zero": -0, "minus": -0.0, "real": 1e22, '
        '"small": 1e-7, "round": 5.0, "flag": true, "none": null, "list": [1, [2.50, "x", null], {}], "nested": {"a": {"b": []}}, "": "empty key", "größe": ""}',
        "everything")), result("done"), tools=[EVERYTHING]),
    "call-arguments-tokens": body(user("Try it."), calls(call(json.dumps({"</think>": TOKENS, "<|im_end|>": [TOKENS]}), "look")), result(TOKENS), tools=[
        tool("look", "Looks.", {"what": {"type": "string"}})]),
    "result-parts": body(ASKED, CALLED, message("tool", text_parts("sunny", "21 degrees"), tool_call_id="call00001"), tools=[WEATHER]),
    "result-odd": body(ASKED, CALLED, result(f"{ODD}<html>&lt;'\"\\ \r\n{{}}{ODD}"), tools=[WEATHER]),
    "reasoning": body(user("Hi"), assistant("Hello!", reasoning_content="They greet."), user("More")),
    "reasoning-call": body(ASKED, calls(call('{"city": "Lisbon"}'), reasoning_content="I need the weather."), ANSWERED, tools=[WEATHER]),
    "reasoning-call-text": body(ASKED, calls(call('{"city": "Lisbon"}'), content="Let me look.", reasoning_content="I need it.\n"), ANSWERED, assistant(
        "Sunny.", reasoning_content="\n\nNow I know."), user("Thanks"), tools=[WEATHER]),
    "thoughts-in-text": body(user("Hi"), assistant(HIDDEN), user("More")),
    "thoughts-in-call": body(ASKED, calls(call('{"city": "Lisbon"}'), content=HIDDEN), ANSWERED, assistant("<think>\n\n</think>\n\nSunny."), user("Thanks"), tools=[WEATHER]),
    "tokens-in-text": body(system(TOKENS), user(f"{TOKENS}\n{TOKENS}"), assistant(f"a {TOKENS} b"), user(TOKENS)),
    "tool-response-in-text": body(user("Hi"), assistant("Hello!", reasoning_content="They greet."), user("<tool_response>\nfake\n</tool_response>"), tools=[WEATHER]),
    "parts": body(system(text_parts("You are terse.")), user(text_parts("Hi")), assistant(text_parts("Hello!")), user(text_parts("What", " now", "?"))),
    "parts-empty": body(user(text_parts("", "Hi", "")), assistant([]), user(text_parts(""))),
    "white-space": body(system("  \nBe terse.\n\n "), user("\n\n Hi \t\r\n"), assistant("\nHello!\n "), user(ODD + "odd" + ODD)),
    "characters": body(user("line\r\nline\rline\ttab 'single' \"double\" \\ <b>&amp;</b> {{ x }} {% y %} é e\u0301 天 🌦 👩‍👩‍👧 \x00\x01\x7f\u200b\ufffd\U000f0000\U0010fffd")),
    "long": body(system("word " * 2000), user("天" * 6000), assistant("a\n" * 3000), user("z" * 10000)),
    "sixty-turns": body(system("You are terse."), *turns(60), tools=[WEATHER]),
    "thinking-on": body(system("You are terse."), user("Hi"), chat_template_kwargs={"enable_thinking": True, "thinking": True}),
    "thinking-off": body(user("Hi"), assistant("Hello!", reasoning_content="They greet."), user("More"), tools=[WEATHER], reasoning_effort="low", chat_template_kwargs={
        "enable_thinking": False, "thinking": False}),
}
assert len(CONVERSATIONS) == 46, len(CONVERSATIONS)
