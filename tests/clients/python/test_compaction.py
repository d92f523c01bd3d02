"""openai-python compacts conversations, by each way that it has, and goes on from what comes back."""
import openai
import pytest
from conftest import client_of, running
from server import replay_file

MODEL = "qwen3-tiny"
SUMMARY = "The user asked for the weather: SUNNY in Paris."
CONVERSATION = [
    {"role": "user", "content": "Weather in Paris?"},
    {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "a", "output": "Sunny. " * 50},
    {"role": "assistant", "content": "It is sunny."},
    {"role": "user", "content": "And now?"},
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compaction")
    rules = [
        {"when": {"last_user_contains": "SUM IT UP"}, "text": f"<think>\nHm.\n</think>\n\n{SUMMARY}"},
        {"when": {"last_user_contains": "SUNNY in Paris", "tool_results": 0}, "text": "It sees the summary."},
        {"text": "It sees the conversation."},
    ]
    prompt = folder / "prompt.txt"
    prompt.write_text("SUM IT UP.")
    for server in running("--engine", replay_file(folder, rules), "--compaction-prompt", str(prompt)):
        yield client_of(server)


def goes_on(client, items):
    """Whether the model sees the summary in place of what was said."""
    answer = client.responses.create(model=MODEL, input=items)
    return answer.output_text == "It sees the summary."


def test_compact_returns_the_users_messages_and_one_item(client):
    compacted = client.responses.compact(model=MODEL, input=CONVERSATION, instructions="Be brief.")
    assert compacted.object == "response.compaction"
    assert [item.type for item in compacted.output] == ["message", "message", "compaction"]
    assert [item.content[0].text for item in compacted.output[:2]] == ["Weather in Paris?", "And now?"]
    assert SUMMARY not in compacted.output[2].encrypted_content
    assert compacted.usage.output_tokens_details.reasoning_tokens > 0
    assert goes_on(client, [item.to_dict() for item in compacted.output])
    again = client.responses.compact(model=MODEL, input=[item.to_dict() for item in compacted.output])
    assert [item.type for item in again.output] == ["message", "message", "compaction"]


def test_a_trigger_is_answered_by_exactly_one_item(client):
    asked = {"model": MODEL, "input": [*CONVERSATION, {"type": "compaction_trigger"}]}
    with client.responses.stream(**asked) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert [item.type for item in final.output] == ["compaction"]
    assert "response.compaction.compacting" in kinds
    assert not [kind for kind in kinds if kind.endswith(".delta")]
    assert goes_on(client, [CONVERSATION[0], final.output[0].to_dict()])


def test_a_threshold_compacts_before_the_answer(client):
    counted = client.responses.input_tokens.count(model=MODEL, input=CONVERSATION).input_tokens
    for threshold, kinds, text in [
        (counted, ["message"], "It sees the conversation."),
        (counted - 1, ["compaction", "message"], "It sees the summary."),
    ]:
        management = [{"type": "compaction", "compact_threshold": threshold}]
        answer = client.responses.create(model=MODEL, input=CONVERSATION, context_management=management)
        assert ([item.type for item in answer.output], answer.output_text) == (kinds, text)


def test_an_item_of_another_server_is_refused(client):
    item = {"type": "compaction", "encrypted_content": "gAAAAABpM0Yj"}
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model=MODEL, input=[item])
    assert refused.value.code == "invalid_encrypted_content"
