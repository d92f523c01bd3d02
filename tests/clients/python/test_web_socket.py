"""openai-python's WebSocket client of the Responses API."""
import asyncio

import pytest
from conftest import client_of
from openai import AsyncOpenAI, NotFoundError
from server import Server, replay_file

MODEL = "qwen3-tiny"
RULES = [
    {"when": {"last_user_contains": "weather", "tool_results": 0},
     "text": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Lisbon"}}\n</tool_call>'},
    {"when": {"last_role": "tool", "tool_results": 1}, "text": "It is sunny."},
    {"text": "<think>\nHm.\n</think>\n\nHello!"},
]
TOOLS = [{"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}}]


@pytest.fixture(scope="module")
def scripted(tmp_path_factory):
    server = Server("--engine", replay_file(tmp_path_factory.mktemp("replay"), RULES))
    yield server
    server.stop()


def ended(connection, stream_id=None):
    """Reads a lane's events up to its response's end, and returns the response."""
    numbers = []
    for event in connection:
        if event.stream_id == stream_id:
            assert event.type not in ("error", "response.failed", "response.incomplete"), event
            numbers.append(event.sequence_number)
            if event.type == "response.completed":
                assert numbers == list(range(len(numbers)))
                return event.response
    raise AssertionError("the socket ended first")


@pytest.mark.parametrize("store", [True, False])
def test_a_call_and_its_result_over_one_socket(scripted, store):
    client = client_of(scripted)
    with client.responses.connect() as connection:
        connection.response.create(model=MODEL, store=store, input="How is the weather?", tools=TOOLS, stream_id="main")
        first = ended(connection, "main")
        call = first.output[0]
        assert (call.type, call.name) == ("function_call", "get_weather")
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
        connection.response.create(
            model=MODEL, store=store, input=[result], tools=TOOLS, previous_response_id=first.id, stream_id="main"
        )
        second = ended(connection, "main")
    assert second.output_text == "It is sunny."
    assert second.previous_response_id == first.id
    if store:
        assert client.responses.retrieve(second.id).output_text == "It is sunny."
    else:
        with pytest.raises(NotFoundError):
            client.responses.retrieve(second.id)


def test_lanes_prewarm_and_errors(scripted):
    with client_of(scripted).responses.connect() as connection:
        for lane in ("a", "b"):
            connection.response.create(model=MODEL, store=False, input="Hi", stream_id=lane)
        texts = {}
        for event in connection:
            if event.type == "response.completed":
                texts[event.stream_id] = event.response.output_text
                if len(texts) == 2:
                    break
        assert texts == {"a": "Hello!", "b": "Hello!"}
        connection.response.create(model=MODEL, store=False, input="Hi", generate=False)
        prewarmed = ended(connection)
        assert prewarmed.output == []
        connection.response.create(model=MODEL, store=False, input=[], previous_response_id="resp_unknown")
        error = connection.recv()
        assert (error.type, error.status) == ("error", 400)
        assert error.error.code == "previous_response_not_found"
        connection.response.create(model=MODEL, store=False, input="Again", previous_response_id=prewarmed.id)
        assert ended(connection).output_text == "Hello!"


def test_it_reconnects_when_a_sockets_time_is_over(tmp_path):
    server = Server("--engine", replay_file(tmp_path, RULES), "--websocket-seconds", "1")
    reconnected = []
    with client_of(server).responses.connect(on_reconnecting=reconnected.append, initial_delay=0.01) as connection:
        connection.response.create(model=MODEL, store=False, input="Hi")
        ended(connection)
        # The server ends the socket, and the client opens another one while it waits for events.
        told = next(event for event in connection if event.type == "error")
        assert told.error.code == "websocket_connection_limit_reached"
        told = next(event for event in connection if event.type == "error")
        assert told.error.code == "websocket_connection_limit_reached"
    assert len(reconnected) >= 1
    server.stop()


def test_the_async_client(scripted):
    async def run():
        async with AsyncOpenAI(base_url=scripted.address + "/v1", api_key="none", max_retries=0) as client:
            async with client.responses.connect() as connection:
                await connection.response.create(model=MODEL, store=False, input="Hi")
                async for event in connection:
                    if event.type == "response.completed":
                        return event.response.output_text

    assert asyncio.run(run()) == "Hello!"
