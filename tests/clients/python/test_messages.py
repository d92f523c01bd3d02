"""The Anthropic SDK for Python against Messages: with scripted outputs, and with the real model inside the binary."""
import asyncio

import anthropic
import httpx
import pytest
from anthropic import Anthropic, AsyncAnthropic
from server import Server, replay_file
from transcripts import INTERLEAVED, INTERLEAVED_ITEMS, MESSAGES_TOOLS, STEPS

MODEL = "qwen3-tiny"
THINKING = {"type": "adaptive"}
KINDS = {"reasoning": "thinking", "message": "text", "function_call": "tool_use"}
BLOCKS = [(KINDS[kind], *rest) for kind, *rest in INTERLEAVED_ITEMS]


def client_of(server, **more):
    return Anthropic(base_url=server.address, max_retries=0, timeout=60, **{"api_key": "none", **more})


def arguments(step, **more):
    messages = [{"role": "user", "content": f"steps {step}"}]
    return {"model": MODEL, "max_tokens": 500, "messages": messages, "tools": MESSAGES_TOOLS, "thinking": THINKING, **more}


def simple(block):
    """Returns a block as a tuple to compare."""
    if block.type == "tool_use":
        return (block.type, block.name, block.input)
    return (block.type, block.thinking if block.type == "thinking" else block.text)


def plain(message):
    """Returns a message as JSON without ids and empty fields, which streamed and plain answers set differently."""
    fields = message.to_dict()
    del fields["id"]
    fields["content"] = [{k: v for k, v in block.items() if k != "id" and v is not None} for block in fields["content"]]
    return {key: value for key, value in fields.items() if value is not None}


@pytest.mark.parametrize("step", STEPS)
def test_the_stream_helper_and_the_plain_answer_agree(replay, step):
    client = client_of(replay)
    whole = client.messages.create(**arguments(step))
    assert [simple(block) for block in whole.content] == BLOCKS
    assert (whole.stop_reason, whole.stop_sequence) == ("tool_use", None)
    with client.messages.stream(**arguments(step)) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_message()
    assert plain(final) == plain(whole)
    assert {"thinking", "signature", "text", "input_json", "content_block_stop"} <= set(kinds)
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop"


def test_the_async_helper_gets_the_same(replay):
    async def run():
        async with AsyncAnthropic(base_url=replay.address, api_key="none", max_retries=0) as client:
            async with client.messages.stream(**arguments("eight")) as stream:
                text = "".join([text async for text in stream.text_stream])
                return text, await stream.get_final_message()

    text, final = asyncio.run(run())
    assert [simple(block) for block in final.content] == BLOCKS
    assert text == "".join(item[1] for item in INTERLEAVED_ITEMS if item[0] == "message")


def test_the_beta_client_is_served_too(replay):
    final = client_of(replay).beta.messages.create(**arguments("all"), betas=["interleaved-thinking-2025-05-14"])
    assert [simple(block) for block in final.content] == BLOCKS


def test_cut_at_every_token_it_ends_with_max_tokens(replay):
    client = client_of(replay)
    total = client.messages.create(**arguments("one")).usage.output_tokens
    for limit in range(1, total):
        with client.messages.stream(**arguments("two", max_tokens=limit)) as stream:
            final = stream.get_final_message()
        assert final.stop_reason == "max_tokens", limit
        assert final.usage.output_tokens == limit


def test_a_stop_sequence_is_named(replay):
    message = client_of(replay).messages.create(**arguments("one", stop_sequences=["nothing", " weather."]))
    assert simple(message.content[-1]) == ("text", "First the")
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", " weather.")


def test_counted_tokens_are_those_that_the_answer_charges(replay):
    client = client_of(replay)
    request = arguments("one")
    usage = client.messages.create(**request).usage
    del request["max_tokens"]
    counted = client.messages.count_tokens(**request).input_tokens
    assert counted == usage.input_tokens + usage.cache_read_input_tokens > 0


def test_errors_are_of_the_types_that_the_client_knows(replay):
    client = client_of(replay)
    with pytest.raises(anthropic.NotFoundError) as caught:
        client.messages.create(**arguments("one", model="claude-of-another-server"))
    error = caught.value
    assert error.type == "not_found_error" and "claude-of-another-server" in error.body["error"]["message"]
    assert error.request_id == error.body["request_id"]
    with pytest.raises(anthropic.BadRequestError, match="what the request demands"):
        client.messages.create(**arguments("one", tool_choice={"type": "any"}))
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long: "):
        client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "x" * 1_000_000}])


def test_an_engine_that_fails_is_an_error_in_both_kinds_of_answer(tmp_path):
    server = Server("--engine", replay_file(tmp_path, [{"text": "Hello", "finish": "error"}]), "--api-key", "secret")
    client = client_of(server, api_key="secret")
    with pytest.raises(anthropic.InternalServerError) as caught:
        client.messages.create(**arguments("one"))
    assert caught.value.type == "api_error" and caught.value.body["request_id"] == caught.value.request_id
    with pytest.raises(anthropic.APIStatusError, match="api_error"), client.messages.stream(**arguments("one")) as stream:
        stream.get_final_message()
    with pytest.raises(anthropic.AuthenticationError):
        client_of(server, api_key="wrong").messages.create(**arguments("one"))
    server.process.terminate()
    assert server.process.wait(60) == 0


def test_a_parser_fault_loses_no_text(faulty_parser):
    message = client_of(faulty_parser).messages.create(**arguments("eight"))
    assert [simple(block) for block in message.content] == [("text", INTERLEAVED)]


def test_a_tools_round_trip_with_thinking(embedded):
    client = client_of(embedded)
    messages = [{"role": "user", "content": "What is the weather in Helsinki?"}]
    request = {"model": MODEL, "max_tokens": 300, "tools": MESSAGES_TOOLS, "thinking": THINKING, "extra_body": {"temperature": 0}}
    with client.messages.stream(messages=messages, **request) as stream:
        first = stream.get_final_message()
    assert [block.type for block in first.content] == ["thinking", "tool_use"]
    assert first.content[0].signature and first.usage.output_tokens_details.thinking_tokens > 0
    call = first.content[1]
    assert (call.name, call.input) == ("get_weather", {"city": "Helsinki"})
    result = {"type": "tool_result", "tool_use_id": call.id, "content": '{"temperature": 21, "condition": "sunny"}'}
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    raw = client.messages.with_raw_response.create(messages=messages, **request)
    # The server recognised its own signature, so it ignored nothing.
    assert "x-sluice-warning" not in raw.headers
    second = raw.parse()
    assert second.stop_reason == "end_turn" and second.usage.cache_read_input_tokens > 0
    text = second.content[-1].text
    assert "sunny" in text and "21" in text


def test_thinking_of_another_server_is_taken_and_said(embedded):
    thinking = {"type": "thinking", "thinking": "Greet.", "signature": "EqQBCkYIBRgCKkBx"}
    history = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "Hello!"}]},
        {"role": "user", "content": "Who are you?"},
    ]
    raw = client_of(embedded).messages.with_raw_response.create(model=MODEL, max_tokens=100, messages=history)
    assert "did not sign" in raw.headers["x-sluice-warning"]
    # Without `thinking` in the request the model answers at once, as this protocol's clients expect.
    assert [block.type for block in raw.parse().content] == ["text"]


def test_models_are_listed_in_pages(replay):
    client = client_of(replay)
    models = list(client.models.list(limit=1))
    assert [(model.id, model.type, model.display_name, model.lifecycle) for model in models] == [(MODEL, "model", MODEL, "active")]
    assert client.models.retrieve(MODEL) == models[0]
    assert models[0].max_input_tokens > 0 and models[0].created_at.year > 2025
    with pytest.raises(anthropic.NotFoundError) as error:
        client.models.retrieve("no-such-model")
    assert error.value.body["error"]["type"] == "not_found_error" and error.value.request_id


def test_claude_codes_first_question_needs_no_key(replay):
    assert httpx.head(f"{replay.address}/api/hello").status_code == 200
