"""LiteLLM as a client: the first answer is streamed, the second isn't. Arguments: base URL, model, `responses` or `chat`."""
import json
import sys

import litellm

base_url, model, api = sys.argv[1:]
to = {"model": f"openai/{model}", "api_base": base_url, "api_key": "none", "num_retries": 0}
# LiteLLM doesn't stream models that aren't in its price list, and searching for them takes seconds.
litellm.register_model({f"openai/{model}": {"litellm_provider": "openai", "mode": "chat"}})
question = {"role": "user", "content": "What is the weather in Zürich?"}
function = {
    "name": "get_weather",
    "description": "Weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
RESULT = "sunny, 21 degrees"


def responses():
    tools = [{"type": "function", **function}]
    events = list(litellm.responses(input=[question], tools=tools, stream=True, **to))
    output = [item if isinstance(item, dict) else item.model_dump() for item in events[-1].response.output]
    calls = [item for item in output if item["type"] == "function_call"]
    results = [{"type": "function_call_output", "call_id": call["call_id"], "output": RESULT} for call in calls]
    final = litellm.responses(input=[question, *output, *results], tools=tools, **to)
    texts = [part.text for item in final.output if item.type == "message" for part in item.content]
    return [call["arguments"] for call in calls], "".join(texts)


def chat():
    tools = [{"type": "function", "function": function}]
    pieces = list(litellm.completion(messages=[question], tools=tools, stream=True, **to))
    answer = litellm.stream_chunk_builder(pieces).choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": RESULT} for call in answer.tool_calls]
    final = litellm.completion(messages=[question, answer.model_dump(), *results], tools=tools, **to)
    return [call.function.arguments for call in answer.tool_calls], final.choices[0].message.content


arguments, text = responses() if api == "responses" else chat()
print(json.dumps({"calls": [json.loads(call) for call in arguments], "text": text}))
