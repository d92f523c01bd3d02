"""Constrained answers of the real model inside the binary, read by the clients' own helpers."""
import json
from typing import Literal

import anthropic
import pytest
from conftest import client_of, running
from jsonschema import validate
from langchain_openai import ChatOpenAI
from openai import BadRequestError, pydantic_function_tool
from pydantic import BaseModel, Field
from server import replay_file
from transcripts import call

MODEL = "qwen3-tiny"
GREEDY = {"temperature": 0}
QUESTION = [{"role": "user", "content": "What is the weather in Helsinki?"}]


class Wind(BaseModel):
    direction: Literal["north", "east", "south", "west"]
    speed: int = Field(ge=0, le=200)


class Sky(BaseModel):
    """Without bounds of lengths, which Anthropic's client takes out of schemas."""

    clear: bool
    wind: Wind


class Weather(BaseModel):
    """What the weather is like."""

    city: str = Field(max_length=16)
    warm: bool
    winds: list[Wind] = Field(max_length=2)


SCHEMA = Weather.model_json_schema()


def test_responses_parse_gives_an_object(embedded):
    response = client_of(embedded).responses.parse(model=MODEL, input=QUESTION, text_format=Weather, temperature=0)
    assert [item.type for item in response.output] == ["reasoning", "message"]
    assert isinstance(response.output_parsed, Weather)


def test_a_stream_of_responses_gives_the_same_object(embedded):
    client = client_of(embedded)
    asked = {"model": MODEL, "input": QUESTION, "text_format": Weather, "temperature": 0}
    with client.responses.stream(**asked) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_response()
    assert streamed.output_parsed == client.responses.parse(**asked).output_parsed


def test_chat_parse_gives_an_object_and_the_arguments_of_a_forced_tool(embedded):
    client = client_of(embedded)
    completion = client.chat.completions.parse(model=MODEL, messages=QUESTION, response_format=Weather, temperature=0)
    assert isinstance(completion.choices[0].message.parsed, Weather)
    tool = pydantic_function_tool(Weather)
    choice = {"type": "function", "function": {"name": "Weather"}}
    for tool_choice in [choice, "required"]:
        completion = client.chat.completions.parse(model=MODEL, messages=QUESTION, tools=[tool], tool_choice=tool_choice, temperature=0)
        [call] = completion.choices[0].message.tool_calls
        assert isinstance(call.function.parsed_arguments, Weather)


def test_sampled_choices_all_have_the_form(embedded):
    answers = client_of(embedded).chat.completions.parse(
        model=MODEL, messages=QUESTION, response_format=Weather, n=4, temperature=1.5, seed=3
    )
    assert all(isinstance(choice.message.parsed, Weather) for choice in answers.choices)


def test_a_json_object_is_one(embedded):
    completion = client_of(embedded).chat.completions.create(
        model=MODEL, messages=QUESTION, response_format={"type": "json_object"}, temperature=0, max_tokens=400
    )
    [choice] = completion.choices
    assert choice.finish_reason == "length" or isinstance(json.loads(choice.message.content), dict)
    assert choice.message.content.lstrip().startswith("{")


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ({"structured_outputs": {"choice": ["north wind", "south\nwind"]}}, {"north wind", "south\nwind"}),
        ({"guided_choice": ["yes"]}, {"yes"}),
        ({"structured_outputs": {"regex": "[ab]{3}"}}, {a + b + c for a in "ab" for b in "ab" for c in "ab"}),
        ({"guided_grammar": 'start: word ("-" word)~2..2\nword: "x" | "y"'}, {f"{a}-{b}-{c}" for a in "xy" for b in "xy" for c in "xy"}),
    ],
)
def test_the_extensions_that_clients_of_vllm_send(embedded, form, wanted):
    completion = client_of(embedded).chat.completions.create(model=MODEL, messages=QUESTION, extra_body=form, seed=1)
    assert completion.choices[0].message.content in wanted


def test_guided_json_is_a_schema(embedded):
    completion = client_of(embedded).chat.completions.create(
        model=MODEL, messages=QUESTION, temperature=0, extra_body={"guided_json": json.dumps(SCHEMA)}
    )
    validate(json.loads(completion.choices[0].message.content), SCHEMA)


def test_a_keyword_that_cannot_be_followed_is_named_with_its_place(embedded):
    schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}, "required": ["a"]}
    asked = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
    with pytest.raises(BadRequestError, match="uniqueItems.* at #/properties/a/uniqueItems") as caught:
        client_of(embedded).chat.completions.create(model=MODEL, messages=QUESTION, response_format=asked)
    assert caught.value.param == "response_format"


def test_anthropic_forces_a_tool(embedded):
    client = anthropic.Anthropic(base_url=embedded.address, api_key="none", max_retries=0, timeout=60)
    tool = {"name": "report", "input_schema": SCHEMA}
    other = {"name": "other", "input_schema": {"type": "object"}}
    for choice in [{"type": "tool", "name": "report"}, {"type": "any"}]:
        tools = [tool] if choice["type"] == "any" else [other, tool]
        message = client.messages.create(model=MODEL, max_tokens=900, messages=QUESTION, tools=tools, tool_choice=choice, extra_body=GREEDY)
        assert message.stop_reason == "tool_use"
        Weather.model_validate(message.content[-1].input)


def test_anthropic_parses_an_answer(embedded):
    client = anthropic.Anthropic(base_url=embedded.address, api_key="none", max_retries=0, timeout=60)
    message = client.messages.parse(model=MODEL, max_tokens=400, messages=QUESTION, output_format=Sky, extra_body=GREEDY)
    assert isinstance(message.parsed_output, Sky)


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
def test_langchain_gives_structured_output(embedded, method):
    model = ChatOpenAI(model=MODEL, base_url=embedded.address + "/v1", api_key="none", max_retries=0, temperature=0)
    answer = model.with_structured_output(Weather, method=method).invoke("What is the weather in Helsinki?")
    assert isinstance(answer, Weather)


WRITTEN = {"city": "Oslo", "warm": False, "winds": [{"direction": "north", "speed": 3}]}


@pytest.fixture(scope="module")
def scripted(tmp_path_factory):
    """A server whose scripts are what a question demands, or not."""
    rules = [
        {"when": {"last_user_contains": "JSON"}, "text": json.dumps(WRITTEN)},
        {"when": {"last_user_contains": "call"}, "text": call("Weather", **WRITTEN)},
        {"text": json.dumps(WRITTEN).replace("north", "up")},
    ]
    yield from running("--engine", replay_file(tmp_path_factory.mktemp("scripted"), rules))


def asked(text):
    return {"model": MODEL, "messages": [{"role": "user", "content": text}]}


def test_a_script_stands_in_for_a_model_whose_answer_is_demanded(scripted):
    client = client_of(scripted)
    weather = Weather(**WRITTEN)
    parsed = client.chat.completions.parse(**asked("JSON"), response_format=Weather)
    assert parsed.choices[0].message.parsed == weather
    with client.chat.completions.stream(**asked("JSON"), response_format=Weather) as stream:
        for _ in stream:
            pass
        assert stream.get_final_completion().choices[0].message.parsed == weather
    tools = [pydantic_function_tool(Weather)]
    for choice in ("auto", "required", {"type": "function", "function": {"name": "Weather"}}):
        called = client.chat.completions.parse(**asked("call"), tools=tools, tool_choice=choice)
        assert called.choices[0].message.tool_calls[0].function.parsed_arguments == weather


def test_a_script_that_breaks_the_demand_is_an_error_with_its_place(scripted):
    with pytest.raises(BadRequestError, match=r"isn't allowed there, at token \d+ \(byte 5\d\)") as error:
        client_of(scripted).chat.completions.parse(**asked("else"), response_format=Weather)
    assert error.value.code == "replay_mismatch"
