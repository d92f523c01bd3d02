"""openai-python against the real model inside the binary, mostly greedy; nothing is scripted."""
import json

from conftest import client_of
from round_trip import weather_round_trip
from transcripts import CHAT_TOOLS

MODEL = "qwen3-tiny"


def test_a_tools_round_trip_with_reasoning(embedded):
    first, call, second = weather_round_trip(client_of(embedded), MODEL, "Helsinki")
    assert [item.type for item in first.output] == ["reasoning", "function_call"]
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Helsinki"})
    assert first.usage.output_tokens_details.reasoning_tokens > 0
    assert "sunny" in second.output_text and "21" in second.output_text


def test_chat_round_trip(embedded):
    client = client_of(embedded)
    messages = [{"role": "user", "content": "What time is it in Tallinn?"}]
    first = client.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS, temperature=0)
    message = first.choices[0].message
    assert [call.function.name for call in message.tool_calls] == ["get_time"]
    messages += [message.to_dict(), {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": '{"time": "12:34"}'}]
    second = client.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS, temperature=0)
    assert "12:34" in second.choices[0].message.content


def test_thinking_off_gives_no_reasoning(embedded):
    response = client_of(embedded).responses.create(
        model=MODEL, input="Who are you?", temperature=0, extra_body={"chat_template_kwargs": {"enable_thinking": False}}
    )
    assert [item.type for item in response.output] == ["message"]
    assert response.output_text


def test_the_same_seed_gives_the_same_answer(embedded):
    def ask():
        return client_of(embedded).chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": "Tell me a joke."}], temperature=1.5, seed=7, max_tokens=60
        )

    assert ask().choices[0].message.to_dict() == ask().choices[0].message.to_dict()


def test_the_second_turn_finds_the_prompt_in_the_cache(embedded):
    client = client_of(embedded)
    text = "Hello! " * 60
    ask = lambda: client.responses.create(model=MODEL, input=text, temperature=0, max_output_tokens=4)
    ask()
    assert ask().usage.input_tokens_details.cached_tokens > 0
