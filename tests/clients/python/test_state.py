"""openai-python with state on the server: chains, background responses that are followed on another connection, input items, its exceptions."""
import openai
import pytest
from conftest import client_of
from transcripts import RESPONSES_TOOLS

MODEL = "qwen3-tiny"
CHAIN = {"model": MODEL, "tools": RESPONSES_TOOLS}


@pytest.fixture(scope="module")
def client(state):
    return client_of(state)


def weather(client):
    """Returns the three responses of a chain, each of which got its new items alone."""
    asked = client.responses.create(**CHAIN, input="What is the weather in Zürich?")
    call = asked.output[-1]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny, 21 degrees"}
    told = client.responses.create(**CHAIN, input=[result], previous_response_id=asked.id)
    return asked, told, client.responses.create(**CHAIN, input="And in Fahrenheit?", previous_response_id=told.id)


def test_a_chain_gets_only_what_is_new(client):
    asked, told, last = weather(client)
    assert [item.type for item in asked.output] == ["reasoning", "message", "function_call"]
    assert [told.output_text, last.output_text] == ["It is sunny in Zürich, 21 degrees.", "70 degrees."]
    assert [asked.previous_response_id, told.previous_response_id, last.previous_response_id] == [None, asked.id, told.id]
    assert client.responses.retrieve(told.id) == told


def test_a_chain_counts_as_the_same_items_sent_whole(client):
    asked, told, last = weather(client)
    items = list(client.responses.input_items.list(last.id, order="asc"))
    whole = [item.to_dict() for item in [*items, *last.output]]
    question = {"role": "user", "content": "And in Kelvin?"}
    chained = client.responses.input_tokens.count(**CHAIN, input=[question], previous_response_id=last.id)
    assert chained.input_tokens == client.responses.input_tokens.count(**CHAIN, input=[*whole, question]).input_tokens
    assert asked.usage.input_tokens < told.usage.input_tokens < last.usage.input_tokens < chained.input_tokens


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_input_items_come_in_pages(client, limit):
    asked, told, last = weather(client)
    items = list(client.responses.input_items.list(last.id, order="asc", limit=limit))
    kinds = ["message", "reasoning", "message", "function_call", "function_call_output", "reasoning", "message", "message"]
    assert [item.type for item in items] == kinds
    ids = [item.id for item in items]
    assert ids[1:4] == [item.id for item in asked.output] and ids[5:7] == [item.id for item in told.output]
    assert [item.id for item in client.responses.input_items.list(last.id, limit=limit)] == ids[::-1]
    assert [item.id for item in client.responses.input_items.list(last.id, order="asc", after=ids[4])] == ids[5:]
    assert client.responses.input_items.list(last.id, limit=limit).has_more is (limit < len(kinds))


def test_a_background_response_is_followed_again_after_any_event(client):
    first = client.responses.create(model=MODEL, input="Count.", background=True, stream=True)
    events = [next(first) for _ in range(8)]
    first.close()
    id = events[0].response.id
    while events[-1].type != "response.completed":
        with client.responses.retrieve(id, stream=True, starting_after=events[-1].sequence_number) as stream:
            for event, _ in zip(stream, range(9)):
                events.append(event)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == events[-1].response.output_text == " ".join(str(number) for number in range(1, 17))
    assert client.responses.retrieve(id) == events[-1].response
    assert client.responses.create(model=MODEL, input="More.", previous_response_id=id).output_text == "I don't know."


def test_the_stream_helper_follows_a_background_response(client):
    queued = client.responses.create(model=MODEL, input="Count.", background=True)
    assert (queued.status, queued.output) == ("queued", [])
    with client.responses.stream(response_id=queued.id) as stream:
        assert stream.get_final_response().output_text.endswith("15 16")


def test_a_cancelled_response_ends_its_readers_and_can_be_read(client):
    stream = client.responses.create(model=MODEL, input="For ever.", background=True, stream=True)
    seen = []
    for event in stream:
        seen.append(event)
        if event.type == "response.output_text.delta":
            break
    id = seen[0].response.id
    cancelled = client.responses.cancel(id)
    assert (cancelled.id, cancelled.status) == (id, "cancelled")
    rest = list(stream)
    assert (rest[-1].type, rest[-1].response.status) == ("response.incomplete", "cancelled")
    assert client.responses.retrieve(id) == client.responses.cancel(id) == cancelled
    replayed = client.responses.retrieve(id, stream=True)
    assert [event.sequence_number for event in replayed] == [event.sequence_number for event in seen + rest]


def test_a_deleted_response_is_unknown_and_what_continues_it_is_not(client):
    asked, told, last = weather(client)
    assert client.responses.delete(asked.id) is None
    with pytest.raises(openai.NotFoundError) as unknown:
        client.responses.retrieve(asked.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.delete(asked.id)
    assert unknown.value.code == "not_found"
    with pytest.raises(openai.BadRequestError) as continued:
        client.responses.create(model=MODEL, input="More.", previous_response_id=asked.id)
    assert (continued.value.code, continued.value.param) == ("previous_response_not_found", "previous_response_id")
    again = client.responses.create(**CHAIN, input="And in Fahrenheit?", previous_response_id=told.id)
    assert again.output_text == "70 degrees."


def test_a_result_of_a_call_that_the_chain_does_not_have_is_refused(client):
    asked, _, _ = weather(client)
    result = {"type": "function_call_output", "call_id": "call_none", "output": "sunny"}
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**CHAIN, input=[result], previous_response_id=asked.id)
    assert caught.value.param == "input[0].call_id"


def refused(call):
    with pytest.raises(openai.APIStatusError) as caught:
        call()
    return type(caught.value), caught.value.code, caught.value.param


def test_what_cannot_be_is_an_exception_with_its_code(client):
    responses, request = client.responses, {"model": MODEL, "input": "Hello."}
    kept, unstored = responses.create(**request), responses.create(**request, store=False)
    unknown, bad = openai.NotFoundError, openai.BadRequestError
    assert refused(lambda: responses.retrieve(unstored.id))[:2] == (unknown, "not_found")
    assert refused(lambda: responses.input_items.list("resp_none"))[:2] == (unknown, "not_found")
    assert refused(lambda: responses.cancel("resp_none"))[:2] == (unknown, "not_found")
    assert refused(lambda: responses.cancel(kept.id))[0] == bad
    assert refused(lambda: responses.retrieve(kept.id, stream=True))[0] == bad
    assert refused(lambda: responses.create(**request, background=True, store=False))[::2] == (bad, "background")
    conversation = client.conversations.create().id
    both = {"conversation": conversation, "previous_response_id": kept.id}
    assert refused(lambda: responses.create(**request, **both))[0] == bad
    missing = {"previous_response_id": unstored.id}
    assert refused(lambda: responses.create(**request, **missing))[1:] == ("previous_response_not_found", "previous_response_id")
