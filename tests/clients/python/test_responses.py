"""openai-python against the Responses API, with scripted outputs."""
import asyncio

import openai
import pytest
from conftest import client_of
from openai import AsyncOpenAI
from transcripts import INTERLEAVED, INTERLEAVED_ITEMS, RESPONSES_TOOLS, STEPS, masked, simple

MODEL = "qwen3-tiny"


def arguments(step, **more):
    return {"model": MODEL, "input": f"steps {step}", "tools": RESPONSES_TOOLS, **more}


def folded(events):
    """Returns the items assembled from their deltas alone."""
    items = {}
    for event in events:
        if event.type == "response.output_item.added":
            items[event.output_index] = [event.item.type, getattr(event.item, "name", None), ""]
        elif event.type.endswith(".delta"):
            items[event.output_index][2] += event.delta
    return items


@pytest.mark.parametrize("step", STEPS)
def test_streamed_completed_and_non_streamed_are_the_same(replay, step):
    client = client_of(replay)
    whole = client.responses.create(**arguments(step))
    assert [simple(item) for item in whole.output] == INTERLEAVED_ITEMS
    assert whole.status == "completed"
    events = list(client.responses.create(**arguments(step, stream=True)))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].type == "response.completed"
    assert masked(events[-1].response.to_dict()) == masked(whole.to_dict())
    by_index = folded(events)
    for index, item in enumerate(whole.output):
        assert by_index[index][0] == item.type
        if item.type == "function_call":
            assert by_index[index][1:] == [item.name, item.arguments]
        else:
            assert by_index[index][2] == item.content[0].text


@pytest.mark.parametrize("step", STEPS)
def test_the_stream_helper_accumulates_every_item(replay, step):
    with client_of(replay).responses.stream(**arguments(step)) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert [simple(item) for item in final.output] == INTERLEAVED_ITEMS
    assert kinds.count("response.output_item.done") == len(INTERLEAVED_ITEMS)
    assert final.usage.output_tokens_details.reasoning_tokens > 0


def test_the_async_client_gets_the_same(replay):
    async def run():
        async with AsyncOpenAI(base_url=replay.address + "/v1", api_key="none", max_retries=0) as client:
            whole = await client.responses.create(**arguments("three"))
            async with client.responses.stream(**arguments("three")) as stream:
                async for _ in stream:
                    pass
                final = await stream.get_final_response()
            raw = [event async for event in await client.responses.create(**arguments("three", stream=True))]
            return whole, final, raw[-1].response

    whole, final, last = asyncio.run(run())
    assert [simple(item) for item in whole.output] == INTERLEAVED_ITEMS
    assert [simple(item) for item in final.output] == INTERLEAVED_ITEMS
    assert masked(last.to_dict()) == masked(whole.to_dict())


def test_cut_at_every_token_the_response_is_incomplete_and_whole_in_itself(replay):
    client = client_of(replay)
    total = client.responses.create(**arguments("one")).usage.output_tokens
    for limit in range(1, total):
        step = ["one", "three", "all"][limit % 3]
        whole = client.responses.create(**arguments(step, max_output_tokens=limit))
        events = list(client.responses.create(**arguments(step, max_output_tokens=limit, stream=True)))
        assert events[-1].type == "response.incomplete", limit
        assert events[-1].response.incomplete_details.reason == "max_output_tokens"
        assert masked(events[-1].response.to_dict()) == masked(whole.to_dict())
        assert whole.usage.output_tokens == limit
        assert [item.status for item in whole.output[:-1] if item.type != "reasoning"] == ["completed"] * sum(
            item.type != "reasoning" for item in whole.output[:-1]
        )


def test_without_a_parser_all_text_is_content(no_parser):
    client = client_of(no_parser)
    for step in STEPS:
        with client.responses.stream(**arguments(step)) as stream:
            kinds = {event.type for event in stream}
            final = stream.get_final_response()
        assert [item.type for item in final.output] == ["message"]
        assert final.output_text == INTERLEAVED
        assert {"response.content_part.added", "response.output_text.done", "response.output_item.done"} <= kinds


def test_a_parser_fault_loses_no_text(faulty_parser):
    client = client_of(faulty_parser)
    events = list(client.responses.create(**arguments("three", stream=True)))
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == INTERLEAVED
    assert masked(client.responses.create(**arguments("three")).to_dict()) == masked(events[-1].response.to_dict())
    assert faulty_parser.metric("sluice_parser_faults_total") >= 2


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"temperature": 9}, "temperature"),
        ({"input": 7}, "input"),
    ],
)
def test_what_is_wrong_is_a_400_that_names_the_parameter(replay, change, param):
    with pytest.raises(openai.BadRequestError) as caught:
        client_of(replay).responses.create(**{**arguments("one"), **change})
    assert caught.value.body["param"].startswith(param)
    assert caught.value.body["type"] == "invalid_request_error"


def test_another_model_is_a_404(replay):
    with pytest.raises(openai.NotFoundError) as caught:
        client_of(replay).responses.create(**{**arguments("one"), "model": "gpt-9"})
    assert caught.value.code == "model_not_found"


def test_the_model_list_has_the_served_name(replay):
    assert [model.id for model in client_of(replay).models.list()] == [MODEL]
