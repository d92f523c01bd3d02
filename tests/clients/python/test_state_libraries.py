"""openai-agents, LangChain and Microsoft's Agent Framework with state on the server: each turn needs what the server kept of those before it."""
import asyncio
import json

import agent_framework
import openai
import pytest
from agent_framework.openai import OpenAIChatClient
from agents import Agent, OpenAIConversationsSession, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

MODEL = "qwen3-tiny"
ASKED, AGAIN = "What is the weather in Zürich?", "And in Fahrenheit?"
ANSWERS = ["It is sunny in Zürich, 21 degrees.", "70 degrees."]
set_tracing_disabled(True)


@pytest.fixture(scope="module")
def base_url(state):
    return state.address + "/v1"


class Recorder:
    """openai-python's client of the server, and the bodies of what it asked for responses."""

    def __init__(self, base_url):
        self.bodies = []
        http = openai.DefaultAsyncHttpxClient(event_hooks={"request": [self.note]})
        self.client = openai.AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0, http_client=http)

    async def note(self, request):
        if request.url.path == "/v1/responses":
            self.bodies.append(json.loads(request.content))

    def kinds(self):
        """Returns each request's items by their types."""
        return [[item.get("type", "message") for item in body["input"]] for body in self.bodies]


def get_weather(city: str) -> str:
    """Weather of a city."""
    return "sunny, 21 degrees" if city == "Zürich" else "unknown"


def guide(client):
    model = OpenAIResponsesModel(MODEL, client)
    return Agent(name="guide", instructions="Use the tools.", model=model, tools=[function_tool(get_weather)])


def test_agents_keep_their_session_in_a_conversation(base_url):
    async def run():
        client = Recorder(base_url).client
        session = OpenAIConversationsSession(openai_client=client)
        first = await Runner.run(guide(client), ASKED, session=session)
        resumed = OpenAIConversationsSession(conversation_id=session.session_id, openai_client=client)
        second = await Runner.run(guide(client), AGAIN, session=resumed)
        items = await session.get_items()
        assert await session.get_items(limit=2) == items[-2:]
        assert (await session.pop_item())["id"] == items[-1]["id"]
        left = [item["id"] for item in await session.get_items()]
        assert left == [item["id"] for item in items[:-1]]
        conversation = session.session_id
        await session.clear_session()
        with pytest.raises(openai.NotFoundError):
            await client.conversations.retrieve(conversation)
        return [first.final_output, second.final_output], [item["type"] for item in items]

    answers, kinds = asyncio.run(run())
    assert answers == ANSWERS
    assert kinds == [
        *["message", "reasoning", "message", "function_call", "function_call_output", "reasoning", "message"],
        *["message", "reasoning", "message"],
    ]


@pytest.mark.parametrize("streamed", [False, True])
def test_agents_chain_their_responses(base_url, streamed):
    async def turn(client, question, **state):
        if not streamed:
            return await Runner.run(guide(client), question, **state)
        result = Runner.run_streamed(guide(client), question, **state)
        async for _ in result.stream_events():
            pass
        return result

    async def run():
        recorder = Recorder(base_url)
        first = await turn(recorder.client, ASKED, auto_previous_response_id=True)
        second = await turn(recorder.client, AGAIN, previous_response_id=first.last_response_id)
        return recorder, [first.final_output, second.final_output]

    recorder, answers = asyncio.run(run())
    assert answers == ANSWERS
    assert recorder.kinds() == [["message"], ["function_call_output"], ["message"]]
    parents = [body.get("previous_response_id") for body in recorder.bodies]
    assert parents[0] is None and len(set(parents)) == 3


def test_agents_work_in_a_conversation(base_url):
    async def run():
        recorder = Recorder(base_url)
        conversation = (await recorder.client.conversations.create()).id
        turns = [await Runner.run(guide(recorder.client), text, conversation_id=conversation) for text in (ASKED, AGAIN)]
        return recorder, [turn.final_output for turn in turns]

    recorder, answers = asyncio.run(run())
    assert answers == ANSWERS
    assert recorder.kinds() == [["message"], ["function_call_output"], ["message"]]


@pytest.mark.parametrize("streamed", [False, True])
def test_agent_framework_chains_its_responses_in_a_session(base_url, streamed):
    async def turn(agent, question, session):
        if not streamed:
            return await agent.run(question, session=session)
        stream = agent.run(question, session=session, stream=True)
        async for _ in stream:
            pass
        return await stream.get_final_response()

    async def run():
        recorder = Recorder(base_url)
        chat = OpenAIChatClient(model=MODEL, async_client=recorder.client)
        agent = agent_framework.Agent(client=chat, instructions="Use the tools.", tools=[get_weather])
        session = agent.create_session()
        return recorder, [(await turn(agent, question, session)).text for question in (ASKED, AGAIN)]

    recorder, answers = asyncio.run(run())
    assert answers == ["I look." + ANSWERS[0], ANSWERS[1]]  # its text is that of all messages of a turn
    assert recorder.kinds() == [["message"], ["function_call_output"], ["message"]]
    assert len({body.get("previous_response_id") for body in recorder.bodies}) == 3


@pytest.mark.parametrize("streamed", [False, True])
def test_langchain_sends_what_follows_the_last_response(base_url, streamed):
    bodies = []
    http = openai.DefaultHttpxClient(event_hooks={"request": [lambda request: bodies.append(json.loads(request.content))]})
    chat = ChatOpenAI(
        base_url=base_url, api_key="none", model=MODEL, max_retries=0, http_client=http,
        use_previous_response_id=True, output_version="responses/v1",
    )  # fmt: skip
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    bound = chat.bind_tools([{"type": "function", "name": "get_weather", "parameters": schema}])

    def answer(messages):
        if not streamed:
            return bound.invoke(messages)
        first, *rest = bound.stream(messages)
        return sum(rest, first)

    messages = [HumanMessage(ASKED)]
    messages.append(answer(messages))
    [call] = messages[-1].tool_calls
    assert (call["name"], call["args"]) == ("get_weather", {"city": "Zürich"})
    messages.append(ToolMessage("sunny, 21 degrees", tool_call_id=call["id"]))
    messages += [answer(messages), HumanMessage(AGAIN)]
    messages.append(answer(messages))
    assert [messages[3].text, messages[5].text] == ANSWERS
    kinds = [[item.get("type", "message") for item in body["input"]] for body in bodies]
    assert kinds == [["message"], ["function_call_output"], ["message"]]
    ids = [messages[index].response_metadata["id"] for index in (1, 3)]
    assert [body.get("previous_response_id") for body in bodies] == [None, *ids]
