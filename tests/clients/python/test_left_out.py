"""What the SDKs can send is decided, field by field and type by type, and said in docs/api; and what they do about a refusal."""
import urllib.request

import anthropic
import pytest
import typing_extensions
from anthropic.types.beta import message_create_params as messages_params
from anthropic.types.beta.beta_content_block_param import BetaContentBlockParam
from anthropic.types.beta.beta_tool_result_block_param import Content as ToolResultContent
from openai import NotFoundError, OpenAI
from openai.types.chat import completion_create_params as chat_params
from openai.types.chat.chat_completion_content_part_param import ChatCompletionContentPartParam
from openai.types.chat.chat_completion_message_param import ChatCompletionMessageParam
from openai.types.responses import response_create_params as responses_params
from openai.types.responses.response_includable import ResponseIncludable
from openai.types.responses.response_input_content_param import ResponseInputContentParam
from openai.types.responses.response_input_item_param import ResponseInputItemParam
from server import ROOT, Server, replay_file
from test_messages import client_of as anthropic_client
from transcripts import call

PAGES = {"responses": "responses", "chat": "chat-completions", "messages": "messages"}


def page(name):
    """Returns the tables of an endpoint: its own page, and its section of the page of what is left out."""
    api = ROOT / "docs/api"
    left_out = (api / "left-out.md").read_text().split("\n## ")
    path = {"responses": "/v1/responses", "chat": "/v1/chat/completions", "messages": "/v1/messages"}[name]
    section = next(part for part in left_out if part.startswith(f"`POST {path}`"))
    return (api / f"{PAGES[name]}.md").read_text() + section


def members(union):
    """Returns the classes of a union, nested ones included."""
    if typing_extensions.get_origin(union) is typing_extensions.Annotated:
        return members(typing_extensions.get_args(union)[0])
    arguments = typing_extensions.get_args(union)
    return [kind for part in arguments for kind in members(part)] if arguments else [union]


def fields(kind):
    return set(typing_extensions.get_type_hints(kind)) if typing_extensions.is_typeddict(kind) else set()


def types(union):
    """Returns the values of `type` in a union of typed dictionaries."""
    found = set()
    for kind in filter(typing_extensions.is_typeddict, members(union)):
        hint = typing_extensions.get_type_hints(kind).get("type")
        found |= {value for value in typing_extensions.get_args(hint) if isinstance(value, str)}
    return found


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("responses", responses_params.ResponseCreateParamsNonStreaming),
        ("chat", chat_params.CompletionCreateParamsNonStreaming),
        ("messages", messages_params.MessageCreateParamsNonStreaming),
    ],
)
def test_every_parameter_of_the_sdk_is_decided(name, parameters):
    text = page(name)
    assert [field for field in fields(parameters) if f"| `{field}` |" not in text] == []


@pytest.mark.parametrize(
    ("name", "union"),
    [
        ("responses", ResponseInputItemParam),
        ("responses", ResponseInputContentParam),
        ("chat", ChatCompletionContentPartParam),
        ("messages", BetaContentBlockParam),
        ("messages", ToolResultContent),
    ],
)
def test_every_type_of_item_block_and_part_of_the_sdk_is_decided(embedded, name, union):
    text = page(name)
    with urllib.request.urlopen(embedded.address + "/openapi.json", timeout=10) as answer:
        read = answer.read().decode()
    assert len(types(union)) > 2
    assert [kind for kind in types(union) if f"`{kind}`" not in text and f'{{"const":"{kind}"}}' not in read] == []


def test_every_field_of_a_chat_message_is_decided():
    text = page("chat")
    known = set().union(*(fields(kind) for kind in members(ChatCompletionMessageParam)))
    assert len(known) > 5
    assert [field for field in known if f"`messages[].{field}`" not in text] == []


def test_every_includable_of_the_sdk_is_taken(embedded):
    client = OpenAI(base_url=embedded.address + "/v1", api_key="none", max_retries=0)
    included = list(typing_extensions.get_args(ResponseIncludable))
    answer = client.responses.create(model="qwen3-tiny", input="Hi", max_output_tokens=16, include=included)
    assert client.responses.retrieve(answer.id, include=included).id == answer.id


RULES = [{"when": {"last_role": "tool"}, "text": "It is 21 degrees."}, {"text": call("weather", city="Turku")}]


@pytest.mark.parametrize(
    ("store", "sent"),
    [("memory", [(True, 1), (True, 1)]), ("none", [(True, 1), (False, 1), (False, 3)])],
    ids=["kept", "refused"],
)
def test_the_tool_runner_sends_the_whole_conversation_once_threads_are_refused(tmp_path, store, sent):
    server = Server("--engine", replay_file(tmp_path, RULES), "--store", store)
    client, bodies = anthropic_client(server), []

    @anthropic.beta_tool
    def weather(city: str) -> str:
        """The weather of a city.

        Args:
            city: the city's name
        """
        return f"21 degrees in {city}"

    create = client.beta.messages._post

    def post(path, *, body, **more):
        bodies.append(body)
        return create(path, body=body, **more)

    client.beta.messages._post = post
    question = {"role": "user", "content": "What is the weather in Turku?"}
    runner = client.beta.messages.tool_runner(model="qwen3-tiny", max_tokens=200, tools=[weather], messages=[question])
    last = runner.until_done()
    assert last.content[-1].text == "It is 21 degrees."
    assert [(bool(body.get("thread")), len(body["messages"])) for body in bodies] == sent
    server.stop()


def ask(client, thread):
    messages = [{"role": "user", "content": "Hi"}]
    return client.beta.messages.create(model="qwen3-tiny", max_tokens=20, messages=messages, thread=thread)


def test_refusals_of_threads_have_the_codes_that_the_sdk_knows(tmp_path):
    server = Server("--store", "none")
    with pytest.raises(anthropic.APIStatusError) as caught:
        ask(anthropic_client(server), {"type": "create"})
    assert type(caught.value).__name__ == "ThreadUnsupportedRequestError"
    server.stop()

    # A thread goes on after a restart.
    server = Server("--store", f"sqlite:{tmp_path}/state.db")
    first = ask(anthropic_client(server), {"type": "create"})
    server.stop()
    server = Server("--store", f"sqlite:{tmp_path}/state.db")
    client, again = anthropic_client(server), {"type": "continue", "previous_message_id": first.id}
    assert ask(client, again).role == "assistant"
    for thread, name in [
        (again, "ThreadAlreadyContinuedError"),
        ({"type": "continue", "previous_message_id": "msg_1"}, "ThreadNotFoundError"),
    ]:
        with pytest.raises(anthropic.APIStatusError) as caught:
            ask(client, thread)
        assert type(caught.value).__name__ == name
    server.stop()


def test_an_unknown_reference_and_a_repeated_item_are_named(embedded):
    client = OpenAI(base_url=embedded.address + "/v1", api_key="none", max_retries=0)
    with pytest.raises(NotFoundError, match="Item with id 'msg_gone' not found"):
        client.responses.create(model="qwen3-tiny", input=[{"type": "item_reference", "id": "msg_gone"}])
    twice = [{"type": "message", "id": "msg_1", "role": "user", "content": "Hi"}] * 2
    with pytest.raises(Exception, match="Duplicate item found with id msg_1") as caught:
        client.responses.create(model="qwen3-tiny", input=twice)
    assert (caught.value.status_code, caught.value.param) == (400, "input")
