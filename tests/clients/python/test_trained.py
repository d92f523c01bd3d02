"""openai-python against trained models of other families, loaded from their directories, greedy; nothing is scripted."""
import json

import pytest
from conftest import client_of
from round_trip import weather_round_trip
from transcripts import CHAT_TOOLS

GPT_OSS, KIMI = "gpt-oss-tiny", "kimi-tiny"


@pytest.mark.parametrize("city", ["Helsinki", "Budapest", "Montevideo"])
@pytest.mark.parametrize("model, server", [(GPT_OSS, "gpt_oss"), (KIMI, "kimi")])
def test_a_tools_round_trip_with_reasoning(request, model, server, city):
    client = client_of(request.getfixturevalue(server))
    first, call, second = weather_round_trip(client, model, city)
    assert [item.type for item in first.output] == ["reasoning", "function_call"]
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": city})
    assert first.usage.output_tokens_details.reasoning_tokens > 0
    assert second.output_text == f"It is sunny with 21 degrees in {city}."


def test_two_calls_one_after_the_other(gpt_oss):
    client, said = client_of(gpt_oss), {"Riga": "windy", "Oslo": "foggy"}
    messages, cities = [{"role": "user", "content": "What is the weather in Riga and Oslo?"}], []
    while True:
        answer = client.chat.completions.create(model=GPT_OSS, messages=messages, tools=CHAT_TOOLS, temperature=0)
        message = answer.choices[0].message
        if not message.tool_calls:
            break
        [call] = message.tool_calls
        cities.append(json.loads(call.function.arguments)["city"])
        result = json.dumps({"temperature": 3 + len(cities), "condition": said[cities[-1]]})
        messages += [message.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": result}]
    assert cities == ["Riga", "Oslo"]
    assert message.content.startswith("It is windy with 4 degrees")


def test_an_answer_without_a_tool(gpt_oss):
    response = client_of(gpt_oss).responses.create(model=GPT_OSS, input="Who are you?", temperature=0)
    assert [item.type for item in response.output] == ["reasoning", "message"]
    assert response.output[1].phase == "final_answer"
    assert "tiny test model" in response.output_text


def test_two_calls_at_once(kimi):
    client = client_of(kimi)
    messages = [{"role": "user", "content": "What is the weather in Riga and Oslo?"}]
    with client.chat.completions.stream(model=KIMI, messages=messages, tools=CHAT_TOOLS, temperature=0) as stream:
        for _ in stream:
            pass
        message = stream.get_final_completion().choices[0].message
    assert [json.loads(call.function.arguments)["city"] for call in message.tool_calls] == ["Riga", "Oslo"]
    messages.append(message.to_dict())
    for call, (sky, degrees) in zip(message.tool_calls, [("windy", 4), ("foggy", 7)]):
        content = json.dumps({"temperature": degrees, "condition": sky})
        messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
    answer = client.chat.completions.create(model=KIMI, messages=messages, tools=CHAT_TOOLS, temperature=0)
    assert answer.choices[0].message.content == "It is windy with 4 degrees in Riga and foggy with 7 degrees in Oslo."


def test_reasoning_is_turned_off(kimi):
    response = client_of(kimi).responses.create(
        model=KIMI, input="Who are you?", reasoning={"effort": "none"}, temperature=0
    )
    assert [item.type for item in response.output] == ["message"]
    assert "tiny test model" in response.output_text
