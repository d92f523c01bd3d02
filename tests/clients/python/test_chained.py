"""A server in front of a server in front of a server: the SDKs get the same items as directly."""
from anthropic import Anthropic
from conftest import client_of
from round_trip import weather_round_trip
from transcripts import MESSAGES_TOOLS

MODEL = "qwen3-tiny"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}


def without_ids(items):
    """The items as data, without what is each answer's own."""
    own = {"id", "call_id", "encrypted_content"}
    return [{name: value for name, value in item.to_dict().items() if name not in own} for item in items]


def test_openais_sdk_gets_the_same_items(embedded, chained):
    def said(server):
        first, _, second = weather_round_trip(client_of(server), MODEL, "Helsinki")
        return without_ids(first.output), without_ids(second.output), first.usage.total_tokens

    assert said(chained) == said(embedded)


def test_openais_sdk_streams_the_same_forced_call(embedded, chained):
    tool = {"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": True}

    def said(server):
        request = {"model": MODEL, "input": "Oslo?", "tools": [tool], "tool_choice": "required", "temperature": 0}
        with client_of(server).responses.stream(**request) as stream:
            return without_ids(stream.get_final_response().output)

    assert said(chained) == said(embedded)


def test_anthropics_sdk_gets_the_same_blocks(embedded, chained):
    def said(server):
        client = Anthropic(base_url=server.address, api_key="none", max_retries=0)
        messages = [{"role": "user", "content": "What is the weather in Helsinki?"}]
        request = {"model": MODEL, "max_tokens": 300, "tools": MESSAGES_TOOLS, "messages": messages, "extra_body": {"temperature": 0}}
        with client.messages.stream(**request) as stream:
            streamed = stream.get_final_message().content
        whole = client.messages.create(**request).content
        blocks = [[{k: v for k, v in block.to_dict().items() if k not in ("id", "signature")} for block in one] for one in (streamed, whole)]
        assert blocks[0] == blocks[1]
        assert any(block["type"] == "tool_use" for block in blocks[0])
        return blocks

    assert said(chained) == said(embedded)
