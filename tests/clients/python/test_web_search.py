"""Searches of the web through the Anthropic SDK: a real tool server searches (`searcher.py`), the model's output is scripted."""
import json
import sys

import anthropic
import pytest
from server import Server, replay_file
from test_messages import client_of
from tool_servers import HERE, call

MODEL = "qwen3-tiny"
TOOL = {"type": "web_search_20250305", "name": "web_search"}
THOUGHT = "<think>\n</think>\n\n"


def search(query):
    return call("browser.search", {"query": query})


def asked(word, *calls):
    return {"when": {"last_role": "user", "last_user_contains": word}, "text": "\n".join(calls)}


RULES = [
    asked("weather", search("oslo")),
    asked("twice", search("oslo"), search("oslo").split("</think>")[1]),
    asked("fails", search("broken")),
    asked("nothing", search("nothing")),
    asked("opens", call("browser.open", {"url": "https://travel.example/oslo"})),
    {"when": {"contains": "is wet in Oslo"}, "text": THOUGHT + "It is wet."},
    {"when": {"contains": "never wet"}, "text": THOUGHT + "It is never wet."},
    {"when": {"contains": "kept to ["}, "text": THOUGHT + "It kept to them."},
    {"when": {"last_role": "tool"}, "text": THOUGHT + "I don't know."},
    {"text": THOUGHT + "I know nothing."},
]


def searching(folder, *arguments, more=()):
    """A server whose web search is `searcher.py`."""
    web = {"command": sys.executable, "args": [str(HERE / "searcher.py"), *arguments], "require_approval": "never"}
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"web": web}, "web_search": "web"}))
    return Server("--mcp", str(config), *more)


@pytest.fixture(scope="module")
def scripted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    server = searching(folder, more=("--engine", replay_file(folder, RULES)))
    yield client_of(server)
    server.stop()


def request(word, messages=None, **tool):
    question = [{"role": "user", "content": f"The {word}?"}]
    return {"model": MODEL, "max_tokens": 500, "tools": [{**TOOL, **tool}], "messages": messages or question}


def told(message):
    """Returns a message's blocks without what is random, and the addresses that the search found."""
    shown = []
    for block in message.content:
        if block.type == "web_search_tool_result":
            found = block.content
            assert block.tool_use_id in {other.id for other in message.content if other.type == "server_tool_use"}
            shown.append([page.url for page in found] if isinstance(found, list) else found.error_code)
        elif block.type == "server_tool_use":
            shown.append((block.name, block.input))
        elif block.type == "text":
            assert block.citations is None
            shown.append(block.text)
    return shown


ALL = ["https://weather.example/oslo", "https://travel.example/oslo", "https://blog.travel.example/"]
SEARCHED = ("web_search", {"query": "oslo"})


@pytest.mark.parametrize("kind", ["web_search_20250305", "web_search_20260209", "web_search_20260318"])
def test_a_search_is_told_whole_streamed_and_by_the_beta_client(scripted, kind):
    asks = request("weather", type=kind)
    whole = scripted.messages.create(**asks)
    with scripted.messages.stream(**asks) as stream:
        inputs = [event.partial_json for event in stream if event.type == "input_json"]
        final = stream.get_final_message()
    assert json.loads("".join(inputs)) == {"query": "oslo"}
    for message in [whole, final, scripted.beta.messages.create(**asks)]:
        assert told(message) == [SEARCHED, ALL, "It is wet."]
        found = next(block.content for block in message.content if block.type == "web_search_tool_result")
        assert [(page.type, page.title, page.page_age) for page in found][:2] == [
            ("web_search_result", "Oslo", "2 hours"),
            ("web_search_result", "Visit Oslo", None),
        ]
        assert not any("wet" in page.encrypted_content for page in found)
        assert message.stop_reason == "end_turn"
        used = message.usage.server_tool_use
        assert (used.web_search_requests, used.web_fetch_requests) == (1, 0)


def test_the_next_turn_reads_what_was_found_from_what_comes_back(scripted):
    first = scripted.messages.create(**request("weather"))
    # The script sees the last message: the turn is sent without its text, as one that goes on.
    searched = [block for block in first.content if block.type != "text"]
    asks = request("", [{"role": "user", "content": "Q"}, {"role": "assistant", "content": searched}])
    second = scripted.messages.with_raw_response.create(**asks)
    assert second.headers.get("x-sluice-warning") is None
    assert told(second.parse()) == ["It is wet."]
    # Without the sealed text the model knows no more than titles and addresses.
    blocks = [block.to_dict() for block in searched]
    found = next(block["content"] for block in blocks if block["type"] == "web_search_tool_result")
    for page in found:
        page["encrypted_content"] = "of another server"
    asks["messages"][1]["content"] = blocks
    third = scripted.messages.with_raw_response.create(**asks)
    assert "did not seal" in third.headers["x-sluice-warning"]
    assert told(third.parse()) == ["I don't know."]


def test_what_goes_wrong_has_the_codes_of_the_sdk_and_the_model_goes_on(scripted):
    for word, tool, outcomes in [
        ("twice", {"max_uses": 1}, [ALL, "max_uses_exceeded"]),
        ("one that fails", {}, ["unavailable"]),
        ("search for nothing", {}, [[]]),
    ]:
        message = scripted.messages.create(**request(word, **tool))
        shown = told(message)
        assert sorted(map(str, outcomes)) == sorted(str(one) for one in shown if isinstance(one, list) or one in outcomes)
        # The last of the results, which the script sees, is the failure.
        assert shown[-1] == "I don't know."
        codes = anthropic.types.WebSearchToolResultErrorCode.__args__
        assert all(one in codes for one in outcomes if isinstance(one, str))
        # It comes back as it is.
        history = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": message.content}, {"role": "user", "content": "So?"}]
        assert scripted.messages.create(**request(word, history)).stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("tool", "found", "answer"),
    [
        ({"allowed_domains": ["weather.example"]}, ALL[:1], "It is wet."),
        ({"allowed_domains": ["travel.example"]}, ALL[1:], "It is never wet."),
        ({"allowed_domains": ["travel.example/oslo"]}, ALL[1:2], "It is never wet."),
        ({"blocked_domains": ["weather.example", "blog.travel.example"]}, ALL[1:2], "It is never wet."),
        ({"blocked_domains": ["example"]}, [], "I don't know."),
    ],
)
def test_a_search_keeps_to_its_domains(scripted, tool, found, answer):
    message = scripted.messages.create(**request("weather", **tool))
    assert told(message) == [SEARCHED, found, answer]


def test_pages_that_cannot_be_kept_to_the_domains_are_not_opened(scripted):
    message = scripted.messages.create(**request("one who opens"))
    assert told(message) == ["It is never wet."]
    message = scripted.messages.create(**request("one who opens", blocked_domains=["travel.example"]))
    result = next(block for block in message.content if block.type == "mcp_tool_result")
    assert result.is_error and "restricts the web" in result.content[0]["text"]
    assert told(message) == ["I don't know."]


def test_a_tool_that_takes_domains_is_given_them(tmp_path):
    server = searching(tmp_path, "domains", more=("--engine", replay_file(tmp_path, RULES)))
    client = client_of(server)
    asks = request("weather", allowed_domains=["a.example"])
    first = client.messages.create(**asks)
    assert told(first) == [SEARCHED, [""], "It kept to them."]
    server.stop()


@pytest.mark.parametrize("wrong", [{"allowed_domains": ["*.example"]}, {"allowed_domains": ["a.example"], "blocked_domains": ["b.example"]}])
def test_domains_that_mean_nothing_are_refused(scripted, wrong):
    with pytest.raises(anthropic.BadRequestError, match="domain"):
        scripted.messages.create(**request("weather", **wrong))


def test_without_a_server_that_searches_a_search_is_refused_or_left_out(replay):
    client = client_of(replay)
    forced = {"tool_choice": {"type": "tool", "name": "web_search"}}
    other = {"name": "f", "input_schema": {"type": "object"}}
    for more in [{}, forced, {**forced, "tools": [TOOL, other]}]:
        with pytest.raises(anthropic.BadRequestError):
            client.messages.create(**{**request("weather"), **more})
    asks = {**request("", [{"role": "user", "content": "steps one"}]), "tools": [TOOL, other]}
    answer = client.messages.with_raw_response.create(**asks)
    assert "web_search_20250305 ignored" in answer.headers["x-sluice-warning"]


def test_a_search_that_the_sdk_demands_is_made_by_the_model_itself(tmp_path):
    server = searching(tmp_path)
    asks = request("weather", max_uses=1) | {"tool_choice": {"type": "tool", "name": "web_search"}}
    message = client_of(server).messages.create(**asks)
    assert message.content[0].type == "server_tool_use"
    assert message.usage.server_tool_use.web_search_requests == 1
    server.stop()
