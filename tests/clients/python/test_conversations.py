"""openai-python's `client.conversations` and stored chat completions, and sessions of openai-agents."""
import asyncio

import openai
import pytest
from agents import Agent, ModelSettings, OpenAIConversationsSession, OpenAIResponsesModel, RunConfig, Runner
from conftest import client_of
from openai import AsyncOpenAI

MODEL = "qwen3-tiny"


def message(text, role="user"):
    return {"role": role, "content": text}


def test_a_conversation_is_made_read_changed_and_deleted(embedded):
    conversations = client_of(embedded).conversations
    made = conversations.create(metadata={"topic": "tea"}, items=[message("Hello!")])
    assert made.id.startswith("conv_") and made.object == "conversation" and made.metadata == {"topic": "tea"}
    assert conversations.retrieve(made.id) == made
    changed = conversations.update(made.id, metadata={"topic": "coffee"})
    assert (changed.metadata, changed.created_at) == ({"topic": "coffee"}, made.created_at)
    deleted = conversations.delete(made.id)
    assert (deleted.id, deleted.deleted, deleted.object) == (made.id, True, "conversation.deleted")
    with pytest.raises(openai.NotFoundError) as refused:
        conversations.retrieve(made.id)
    assert refused.value.code == "not_found"


def test_items_are_added_paged_and_removed(embedded):
    client = client_of(embedded)
    conversation = client.conversations.create().id
    items = client.conversations.items
    added = items.create(conversation, items=[
        message("Q"),
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A", "annotations": []}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "12"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "why"}]},
    ], include=["message.output_text.logprobs"])
    assert [item.type for item in added.data] == [
        "message", "message", "function_call", "function_call_output", "reasoning"]
    first, answer, call = added.data[:3]
    assert (type(first).__name__, first.role, first.status, first.content[0].text) == ("Message", "user", "completed", "Q")
    assert (answer.content[0].type, answer.content[0].text) == ("output_text", "A")
    assert (call.name, call.arguments, call.status) == ("f", "{}", "completed")
    for limit in (1, 2, 5, 100):
        assert list(items.list(conversation, order="asc", limit=limit)) == added.data
        assert list(items.list(conversation, limit=limit)) == added.data[::-1]
    assert items.retrieve(first.id, conversation_id=conversation) == first
    assert items.delete(first.id, conversation_id=conversation).id == conversation
    assert [item.id for item in items.list(conversation, order="asc", after=answer.id)] == [
        item.id for item in added.data[2:]]
    with pytest.raises(openai.NotFoundError):
        items.retrieve(first.id, conversation_id=conversation)
    with pytest.raises(openai.BadRequestError) as refused:
        items.create(conversation, items=[message("x")] * 21)
    assert refused.value.param == "items"


def test_a_response_reads_its_conversation_and_adds_to_it(embedded):
    client = client_of(embedded)
    conversation = client.conversations.create(items=[message("My name is Ada.")]).id
    before = client.responses.input_tokens.count(model=MODEL, input="Hi").input_tokens
    response = client.responses.create(model=MODEL, input="Hi", conversation=conversation, max_output_tokens=8)
    assert response.usage.input_tokens > before
    assert response.conversation.id == conversation
    items = list(client.conversations.items.list(conversation, order="asc"))
    assert [item.content[0].text for item in items[:2]] == ["My name is Ada.", "Hi"]
    assert [item.id for item in items[2:]] == [item.id for item in response.output]


def test_stored_completions_are_listed_read_changed_and_deleted(embedded):
    completions = client_of(embedded).chat.completions
    request = {"model": MODEL, "messages": [message("x", "system"), message("y")], "max_tokens": 4}
    made = [completions.create(**request, store=True, metadata={"n": str(number), "of": "python"}) for number in range(3)]
    completions.create(**request)
    mine = {"of": "python"}
    assert [it.id for it in completions.list(metadata=mine, limit=1)] == [it.id for it in made]
    assert [it.id for it in completions.list(metadata=mine, order="desc", model=MODEL)] == [it.id for it in made[::-1]]
    assert [it.id for it in completions.list(metadata={**mine, "n": "1"})] == [made[1].id]
    read = completions.retrieve(made[0].id)
    assert (read.choices, read.usage, read.metadata) == (made[0].choices, made[0].usage, {"n": "0", "of": "python"})
    messages = list(completions.messages.list(made[0].id, limit=1))
    assert [(it.role, it.content) for it in messages] == [("system", "x"), ("user", "y")]
    assert completions.update(made[0].id, metadata={"n": "9"}).metadata == {"n": "9"}
    for completion in made:
        assert completions.delete(completion.id).deleted
    with pytest.raises(openai.NotFoundError):
        completions.retrieve(made[0].id)
    assert not list(completions.list(metadata=mine))


def test_a_streamed_completion_is_stored_when_its_end_is_seen(embedded):
    completions = client_of(embedded).chat.completions
    request = {"model": MODEL, "messages": [message("y")], "max_tokens": 4, "store": True}
    ids = {chunk.id for chunk in completions.create(**request, stream=True)}
    assert [completions.retrieve(id).choices[0].finish_reason for id in ids] == ["length"]


def test_an_agents_session_keeps_its_turns_in_a_conversation(embedded):
    async def run():
        async with AsyncOpenAI(base_url=embedded.address + "/v1", api_key="none", max_retries=0) as client:
            session = OpenAIConversationsSession(openai_client=client)
            model = OpenAIResponsesModel(MODEL, client)
            agent = Agent(name="agent", model=model, model_settings=ModelSettings(temperature=0))
            for question in ("Hi", "Again"):
                await Runner.run(agent, question, session=session, run_config=RunConfig(tracing_disabled=True))
            turns = [(it["type"], it.get("role")) for it in await session.get_items() if it["type"] == "message"]
            await session.add_items([message(str(number)) for number in range(45)])
            last = await session.pop_item()
            recent = await session.get_items(limit=2)
            await session.clear_session()
            return turns, last, recent

    turns, last, recent = asyncio.run(run())
    assert turns == [("message", "user"), ("message", "assistant")] * 2
    assert last["content"][0]["text"] == "44"
    assert [it["content"][0]["text"] for it in recent] == ["42", "43"]
