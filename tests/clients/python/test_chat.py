"""openai-python against Chat Completions, with scripted outputs."""
import asyncio
import json

import pytest
from conftest import client_of
from openai import AsyncOpenAI
from transcripts import CHAT_TOOLS, INTERLEAVED, INTERLEAVED_ITEMS, PATCH, PATCH_TOOL, STEPS, masked

MODEL = "qwen3-tiny"
REASONING = INTERLEAVED_ITEMS[0][1]
CALLS = [(item[1], item[2]) for item in INTERLEAVED_ITEMS if item[0] == "function_call"]
CONTENT = "".join(item[1] for item in INTERLEAVED_ITEMS if item[0] == "message")


def arguments(step, **more):
    messages = [{"role": "user", "content": f"steps {step}"}]
    return {"model": MODEL, "messages": messages, "tools": CHAT_TOOLS, **more}


def check(message):
    assert [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls] == CALLS
    assert message.content.replace("\n", "") == CONTENT
    assert message.reasoning_content == REASONING


@pytest.mark.parametrize("step", STEPS)
def test_the_stream_helper_and_the_plain_answer_agree(replay, step):
    client = client_of(replay)
    plain = client.chat.completions.create(**arguments(step))
    check(plain.choices[0].message)
    assert plain.choices[0].finish_reason == "tool_calls"
    with client.chat.completions.stream(**arguments(step)) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert final.choices[0].finish_reason == "tool_calls"
    streamed, whole = final.choices[0].message, plain.choices[0].message
    assert streamed.content == whole.content
    assert [call.function.arguments for call in streamed.tool_calls] == [
        call.function.arguments for call in whole.tool_calls
    ]


def test_usage_comes_last_and_only_when_asked_for(replay):
    client = client_of(replay)
    asked = list(client.chat.completions.create(**arguments("one", stream=True, stream_options={"include_usage": True})))
    assert asked[-1].choices == [] and asked[-1].usage.total_tokens > 0
    plain = client.chat.completions.create(**arguments("one"))
    assert masked(asked[-1].usage.to_dict()) == masked(plain.usage.to_dict())
    unasked = list(client.chat.completions.create(**arguments("one", stream=True)))
    assert all(chunk.usage is None for chunk in unasked)


def test_the_async_helper_gets_the_same(replay):
    async def run():
        async with AsyncOpenAI(base_url=replay.address + "/v1", api_key="none", max_retries=0) as client:
            async with client.chat.completions.stream(**arguments("eight")) as stream:
                async for _ in stream:
                    pass
                return await stream.get_final_completion()

    message = asyncio.run(run()).choices[0].message
    assert [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls] == CALLS


def test_cut_at_every_token_it_ends_with_length(replay):
    client = client_of(replay)
    total = client.chat.completions.create(**arguments("one")).usage.completion_tokens
    for limit in range(1, total):
        step = ["two", "all"][limit % 2]
        plain = client.chat.completions.create(**arguments(step, max_completion_tokens=limit))
        assert plain.choices[0].finish_reason == "length"
        chunks = list(client.chat.completions.create(**arguments(step, max_completion_tokens=limit, stream=True)))
        assert chunks[-1].choices[0].finish_reason == "length"
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        assert text == (plain.choices[0].message.content or "")


def test_a_stop_string_ends_the_message_before_it(replay):
    plain = client_of(replay).chat.completions.create(**arguments("one", stop=["weather."]))
    assert plain.choices[0].message.content == "First the "
    assert plain.choices[0].finish_reason == "stop"


def test_without_a_parser_all_text_is_content(no_parser):
    plain = client_of(no_parser).chat.completions.create(**arguments("three"))
    assert plain.choices[0].message.content == INTERLEAVED
    assert not plain.choices[0].message.tool_calls


def test_a_parser_fault_loses_no_text(faulty_parser):
    plain = client_of(faulty_parser).chat.completions.create(**arguments("eight"))
    assert plain.choices[0].message.content == INTERLEAVED


def test_several_choices_are_told_apart(replay):
    client = client_of(replay)
    plain = client.chat.completions.create(**arguments("two", n=3))
    assert [choice.index for choice in plain.choices] == [0, 1, 2]
    for choice in plain.choices:
        check(choice.message)
    ids = [call.id for choice in plain.choices for call in choice.message.tool_calls]
    assert len(set(ids)) == len(ids)
    with client.chat.completions.stream(**arguments("two", n=3)) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert sorted(choice.index for choice in final.choices) == [0, 1, 2]
    assert all(choice.message.content == plain.choices[0].message.content for choice in final.choices)
    assert {choice.finish_reason for choice in final.choices} == {"tool_calls"}


@pytest.mark.parametrize("step", STEPS)
def test_log_probabilities_spell_the_content(replay, step):
    client = client_of(replay)
    plain = client.chat.completions.create(**arguments(step, logprobs=True, top_logprobs=1))
    tokens = plain.choices[0].logprobs.content
    assert "".join(token.token for token in tokens).replace("\n", "") == CONTENT
    assert all(token.logprob <= 0 and len(token.top_logprobs) == 1 for token in tokens)
    with client.chat.completions.stream(**arguments(step, logprobs=True, top_logprobs=1)) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert [token.to_dict() for token in final.choices[0].logprobs.content] == [token.to_dict() for token in tokens]


@pytest.mark.parametrize("step", STEPS)
def test_a_custom_tool_is_called_with_text(replay, step):
    client = client_of(replay)
    request = {"model": MODEL, "messages": [{"role": "user", "content": f"patch {step}"}], "tools": [PATCH_TOOL]}
    plain = client.chat.completions.create(**request)
    (call,) = plain.choices[0].message.tool_calls
    assert (call.type, call.custom.name, call.custom.input) == ("custom", "apply_patch", PATCH)
    assert plain.choices[0].finish_reason == "tool_calls"
    chunks = list(client.chat.completions.create(**request, stream=True))
    deltas = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []]
    assert deltas[0].to_dict()["type"] == "custom"
    assert "".join(delta.to_dict()["custom"]["input"] for delta in deltas) == PATCH
    again = [*request["messages"], plain.choices[0].message.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": "done"}]
    assert client.chat.completions.create(**{**request, "messages": again}).choices
