"""openai-python with features that agents use: custom tools, encrypted reasoning, namespaces, log-probabilities."""
import json

import openai
import pytest
from conftest import client_of
from transcripts import PATCH, RESPONSES_TOOLS, STEPS, masked

MODEL = "qwen3-tiny"
PATCH_TOOL = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Edits files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: /(?s:.*)/"},
}
FILES = {
    "type": "namespace",
    "name": "files",
    "description": "Files of the project.",
    "tools": [{"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}}],
}


def streamed(client, **request):
    """Returns the final response, as the client accumulates it, and every event."""
    with client.responses.stream(model=MODEL, **request) as stream:
        events = list(stream)
        return stream.get_final_response(), events


@pytest.mark.parametrize("step", STEPS)
def test_a_custom_tool_gets_its_text_and_its_result_goes_back(replay, step):
    client = client_of(replay)
    question = {"role": "user", "content": f"patch {step}"}
    final, events = streamed(client, input=[question], tools=[PATCH_TOOL])
    (call,) = final.output
    assert (call.type, call.name, call.input) == ("custom_tool_call", "apply_patch", PATCH)
    deltas = [event.delta for event in events if event.type == "response.custom_tool_call_input.delta"]
    assert "".join(deltas) == PATCH
    whole = client.responses.create(model=MODEL, input=[question], tools=[PATCH_TOOL])
    assert masked(whole.output[0].to_dict()) == masked(call.to_dict())
    result = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "ok"}
    second = client.responses.create(model=MODEL, input=[question, *final.output, result], tools=[PATCH_TOOL])
    assert second.output_text == "All done."


@pytest.mark.parametrize("summary", [None, "auto"])
def test_encrypted_reasoning_makes_the_round_trip(replay, summary):
    client = client_of(replay)
    question = {"role": "user", "content": "think one"}
    request = {"tools": [PATCH_TOOL], "include": ["reasoning.encrypted_content"], "store": False}
    final, events = streamed(client, input=[question], reasoning={"summary": summary}, **request)
    reasoning, message = final.output
    assert reasoning.encrypted_content and "mauve" not in reasoning.encrypted_content
    shown = reasoning.summary if summary else reasoning.content
    assert [part.text for part in shown] == ["The colour is mauve."]
    assert ("response.reasoning_summary_text.done" in {event.type for event in events}) == bool(summary)
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": reasoning.encrypted_content}
    again = [question, sealed, message, {"role": "user", "content": "think one"}]
    assert client.responses.create(model=MODEL, input=again, **request).status == "completed"
    with pytest.raises(openai.BadRequestError) as caught:
        broken = {**sealed, "encrypted_content": sealed["encrypted_content"][:-6] + "AAAAAA"}
        client.responses.create(model=MODEL, input=[question, broken, message, question], **request)
    assert caught.value.code == "invalid_encrypted_content"
    assert caught.value.param == "input[1].encrypted_content"


def test_tools_in_a_namespace_come_back_under_their_own_names(replay):
    client = client_of(replay)
    final, events = streamed(client, input="namespaced", tools=[FILES])
    (call,) = final.output
    assert (call.type, call.namespace, call.name, json.loads(call.arguments)) == ("function_call", "files", "read", {})
    (done,) = [event for event in events if event.type == "response.function_call_arguments.done"]
    assert done.name == "read"


def test_without_parallel_calls_the_first_ends_the_turn(replay):
    request = {"input": "steps three", "tools": RESPONSES_TOOLS, "parallel_tool_calls": False}
    final, events = streamed(client_of(replay), **request)
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call"]
    assert events[-1].type == "response.completed"


def test_log_probabilities_come_with_deltas_done_and_item(embedded):
    request = {"include": ["message.output_text.logprobs"], "top_logprobs": 2, "temperature": 0}
    final, events = streamed(client_of(embedded), input="Tell me a joke.", **request)
    (message,) = [item for item in final.output if item.type == "message"]
    kept = message.content[0].logprobs
    told = [token for event in events if event.type == "response.output_text.delta" for token in event.logprobs]
    (done,) = [event for event in events if event.type == "response.output_text.done"]
    assert [token.token for token in kept] == [token.token for token in told] == [token.token for token in done.logprobs]
    assert "".join(bytes(token.bytes).decode() for token in kept).strip() == message.content[0].text.strip()
    assert all(len(token.top_logprobs) == 2 and token.logprob <= 0 for token in kept)


def test_deltas_are_padded_unless_the_client_says_otherwise(replay):
    client = client_of(replay)
    for wanted in (True, False):
        options = {} if wanted else {"stream_options": {"include_obfuscation": False}}
        events = list(client.responses.create(model=MODEL, input="steps one", stream=True, **options))
        deltas = [event for event in events if event.type.endswith(".delta")]
        assert deltas and all(hasattr(event, "obfuscation") == wanted for event in deltas)
