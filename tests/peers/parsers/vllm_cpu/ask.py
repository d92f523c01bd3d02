"""Asks two servers the same, and compares the items: `ask.py HOST VLLM`, their base URLs. White space at the ends of texts is aside."""
import json
import sys
import time

import openai

WEATHER = {
    "name": "get_weather",
    "description": "Get the current weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CHAT_TOOLS, RESPONSES_TOOLS = [{"type": "function", "function": WEATHER}], [{"type": "function", **WEATHER}]
#: The question, whether tools are declared, and the kinds of items that have to come. None hangs on the last bits of a sum, which engines differ in.
ASKED = [
    ("What is the weather in Helsinki?", True, ["reasoning", "call"]),
    ("What is the weather in Oslo and Rome?", True, ["reasoning", "call", "call"]),
    ("Hello!", True, ["reasoning", "message"]),
    ("Hello!", False, ["reasoning", "message"]),
]


def items(reasoning, message, calls):
    said = [("reasoning", (reasoning or "").strip()), ("message", (message or "").strip())]
    return [item for item in said if item[1]] + [("call", name, json.loads(arguments)) for name, arguments in calls]


def chat(client, question, tools, **more):
    return client.chat.completions.create(
        model="qwen3-tiny", messages=[{"role": "user", "content": question}], temperature=0, **({"tools": CHAT_TOOLS} if tools else {}), **more
    )


def thought(part):
    return getattr(part, "reasoning", None) or getattr(part, "reasoning_content", None)


def chat_whole(client, question, tools, **more):
    choice = chat(client, question, tools, **more).choices[0]
    calls = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or []]
    return items(thought(choice.message), choice.message.content, calls), choice.finish_reason


def chat_streamed(client, question, tools):
    reasoning, message, calls, reason = "", "", {}, None
    for chunk in chat(client, question, tools, stream=True):
        for choice in chunk.choices:
            reasoning += thought(choice.delta) or ""
            message += choice.delta.content or ""
            for call in choice.delta.tool_calls or []:
                made = calls.setdefault(call.index, ["", ""])
                made[0] += call.function.name or ""
                made[1] += call.function.arguments or ""
            reason = choice.finish_reason or reason
    return items(reasoning, message, calls.values()), reason


def respond(client, question, tools, **more):
    return client.responses.create(model="qwen3-tiny", input=question, temperature=0, **({"tools": RESPONSES_TOOLS} if tools else {}), **more)


def of_output(output):
    def text(kind):
        return "".join(part.text for item in output if item.type == kind for part in item.content or [])

    return items(text("reasoning"), text("message"), [(item.name, item.arguments) for item in output if item.type == "function_call"])


def responses_whole(client, question, tools):
    response = respond(client, question, tools)
    return of_output(response.output), response.status


def responses_streamed(client, question, tools):
    done, deltas, status = [], {}, None
    for event in respond(client, question, tools, stream=True):
        if event.type.endswith(".delta"):
            deltas[event.output_index] = deltas.get(event.output_index, "") + event.delta
        elif event.type == "response.output_item.done":
            done.append(event.item)
            whole = event.item.arguments if event.item.type == "function_call" else "".join(part.text for part in event.item.content)
            assert deltas[event.output_index] == whole, (deltas[event.output_index], whole)
        elif event.type in ("response.completed", "response.incomplete", "response.failed"):
            status = event.response.status
    return of_output(done), status


def client_of(url):
    """A client of the server, once that answers."""
    client, until = openai.OpenAI(base_url=url, api_key="none", timeout=120, max_retries=0), time.monotonic() + 300
    while True:
        try:
            client.models.list()
            return client
        except openai.APIError:
            if time.monotonic() > until:
                raise
            time.sleep(1)


def main():
    host, vllm = map(client_of, sys.argv[1:])
    wrong = compared = 0
    for question, tools, kinds in ASKED:
        for ask in (chat_whole, chat_streamed, responses_whole, responses_streamed):
            ours, theirs = ask(host, question, tools), ask(vllm, question, tools)
            is_right = ours == theirs and [item[0] for item in ours[0]] == kinds
            compared, wrong = compared + 1, wrong + (not is_right)
            if not is_right:
                print(f"{ask.__name__} {question!r}, tools {tools}:\n  host  {ours}\n  vLLM  {theirs}")
    # Forced calls are read, and not forced.
    forced = chat_whole(vllm, ASKED[0][0], True, tool_choice="required")
    if [item[0] for item in forced[0]] != ASKED[0][2]:
        wrong += 1
        print(f"tool_choice required: {forced}")
    print(f"{compared} answers of vLLM and host compared, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
