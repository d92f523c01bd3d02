"""Makes test data from recorded requests: `bodies.py RECORDED`, where RECORDED is the folder that SLUICE_AGENT_BODIES named in a run of all tests.

The shape is kept: every field, item, tool and schema. Long texts are cut, ids and paths replaced, so that the data contain nothing of
the machine or of an agent's own prompts.
"""
import json
import pathlib
import re
import sys

TARGET = pathlib.Path(__file__).resolve().parents[2] / "host/api/src/testdata/agents"
TURN = "test_a_tool_is_called_and_its_result_answered_harmony"
LIGHT = ["openai-agents", "openai-agents-js", "langchain", "ai-sdk"]
# The request that is kept of each test: the last one, which has the most content.
KEPT = {
    **{f"{name}-{api}": f"test_light_py_{TURN}-{name}-{api}-1" for name in LIGHT for api in ("responses", "chat")},
    **{f"litellm-{api}": f"test_litellm_py_{TURN}-{api}-1" for api in ("responses", "chat")},
    "codex-shell": "test_codex_py_test_a_shell_turn_harmony-1",
    "codex-patch": "test_codex_py_test_a_patch_goes_through_the_custom_tool_harmony-1",
    "codex-again": "test_codex_py_test_a_lost_stream_is_asked_for_again_harmony-in_its_message-1",
    "claude-code": "test_claude_code_py_test_a_shell_turn_harmony-1",
}
LISTED = {"codex-patch": {"apply_patch", "multi_agent_v1"}, "codex-again": {"exec_command"}}  # tools that are kept; in the others all are
LONG, CUT = 60, 24
ID = re.compile(r"\b(rs|msg|fc|fco|ctc|ctco|call|resp)_[0-9a-f-]{16,}\b")
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
WHOLE = {"arguments", "cmd", "command", "input", "$schema"}
GRAMMAR = 'start: "*** Begin Patch\\n" /(.|\\n)+/'


class Cleaner:
    """Replaces ids by numbers in the order of their appearance, and cuts long texts."""

    def __init__(self):
        self.ids = {}

    def id(self, match):
        kind = match[1] if match.re is ID else "uuid"
        return self.ids.setdefault(match[0], f"{kind}_{len(self.ids)}")

    def text(self, text, key):
        if key == "encrypted_content":
            return None  # only the server that made it can read it
        if key == "signature":
            return "signature"
        if key == "definition":
            return GRAMMAR
        text = UUID.sub(self.id, ID.sub(self.id, text))
        if text.startswith("{") and key not in WHOLE:
            return "{}"
        if len(text) <= (CUT if key == "description" else LONG) or key in WHOLE:
            return text
        return re.sub(r"/\S*", "/", text[:CUT]) + "…"

    def value(self, value, key=None):
        if isinstance(value, dict):
            return {name: self.value(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner, key) for inner in value]
        return self.text(value, key) if isinstance(value, str) else value


def main(folder):
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, recorded in KEPT.items():
        request = json.loads((pathlib.Path(folder) / f"{recorded}.json").read_text())
        body = Cleaner().value(request["body"])
        if listed := LISTED.get(name):
            body["tools"] = [tool for tool in body["tools"] if tool.get("name") in listed]
        kept = {"path": request["path"], "body": {**body, "model": "m"}}
        (TARGET / f"{name}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


main(*sys.argv[1:])
