"""openai-python with its own retries, at two hosts of one database, of which one is killed while it works."""
import pytest
from hosts import Hosts, missing
from openai import APIConnectionError, OpenAI
from server import ROOT

MODEL = "qwen3-tiny"
COUNTED = " ".join(str(number) for number in range(1, 17))


@pytest.fixture
def hosts():
    if why := missing():
        pytest.skip(why)
    both = Hosts("--engine", f"replay:{ROOT}/tests/clients/state.json")
    yield both
    both.stop()


@pytest.fixture
def client(hosts):
    return OpenAI(base_url=hosts.address + "/v1", api_key="none", timeout=60)


@pytest.mark.parametrize("number", [0, 1])
def test_a_chain_and_a_conversation_go_on_at_the_other_host(hosts, client, number):
    conversation = client.conversations.create()
    last = None
    for turn in range(12):
        if turn == 6:
            hosts.kill(number)
        last = client.responses.create(model=MODEL, input=f"Turn {turn}", previous_response_id=last and last.id)
        assert last.output_text == "I don't know."
        client.responses.create(model=MODEL, input=f"Turn {turn}", conversation=conversation.id)
    inputs = [item for item in client.responses.input_items.list(last.id, order="asc") if item.role == "user"]
    assert [item.content[0].text for item in inputs] == [f"Turn {turn}" for turn in range(12)]
    assert len(list(client.conversations.items.list(conversation.id))) == 24


def followed(client, response, events):
    """Follows a background response to its end, again from the last event whenever the connection breaks."""
    while not events or events[-1].type not in ("response.completed", "response.failed"):
        after = {"starting_after": events[-1].sequence_number} if events else {}
        try:
            for event in client.responses.retrieve(response.id, stream=True, **after):
                events.append(event)
        except APIConnectionError:
            pass
    return events[-1].response


@pytest.mark.parametrize("number", [0, 1])
def test_background_responses_end_once_though_a_host_is_killed(hosts, client, number):
    started = [client.responses.create(model=MODEL, input="Count.", background=True) for _ in range(24)]
    events = {response.id: [] for response in started}
    # The first one runs at one of them.
    stream = client.responses.retrieve(started[0].id, stream=True)
    events[started[0].id] += [next(stream) for _ in range(6)]
    hosts.kill(number)
    stream.close()
    ends = [followed(client, response, events[response.id]) for response in started]
    for response, end in zip(started, ends):
        log = events[response.id]
        assert [event.sequence_number for event in log] == list(range(len(log)))
        assert client.responses.retrieve(response.id) == end
        assert (end.status, end.output_text) == ("completed", COUNTED) or end.status == "failed"
    # Those that had begun at the host that is gone have failed; the others went on.
    assert "completed" in [end.status for end in ends]
