"""openai-python against a trained model of another family, from its directory, greedy: nothing is scripted here."""
import json

import pytest
from conftest import client_of
from round_trip import weather_round_trip
from transcripts import CHAT_TOOLS

MODEL = "gpt-oss-tiny"


@pytest.mark.parametrize("city", ["Helsinki", "Budapest", "Montevideo"])
def test_a_tools_round_trip_with_reasoning(gpt_oss, city):
    first, call, second = weather_round_trip(client_of(gpt_oss), MODEL, city)
    assert [item.type for item in first.output] == ["reasoning", "function_call"]
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": city})
    assert first.usage.output_tokens_details.reasoning_tokens > 0
    assert second.output_text == f"It is sunny with 21 degrees in {city}."


def test_two_calls_one_after_the_other(gpt_oss):
    client, said = client_of(gpt_oss), {"Riga": "windy", "Oslo": "foggy"}
    messages, cities = [{"role": "user", "content": "What is the weather in Riga and Oslo?"}], []
    while True:
        answer = client.chat.completions.create(model=MODEL, messages=messages, tools=CHAT_TOOLS, temperature=0)
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
    response = client_of(gpt_oss).responses.create(model=MODEL, input="Who are you?", temperature=0)
    assert [item.type for item in response.output] == ["reasoning", "message"]
    assert response.output[1].phase == "final_answer"
    assert "tiny test model" in response.output_text
