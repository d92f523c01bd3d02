"""Agent libraries: openai-agents in Python and JavaScript, LangChain, the AI SDK. Over both protocols, in every format."""
import pathlib

import pytest
from weather import play

LIGHT = pathlib.Path(__file__).resolve().parent / "light"
PYTHON = [LIGHT / ".venv/bin/python"]
PROGRAMS = {
    "openai-agents": [*PYTHON, LIGHT / "openai_agents.py"],
    "openai-agents-js": ["node", LIGHT / "openai_agents.mjs"],
    "langchain": [*PYTHON, LIGHT / "langchain_client.py"],
    "ai-sdk": ["node", LIGHT / "ai_sdk.mjs"],
}


@pytest.mark.parametrize("api", ["responses", "chat"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_tool_is_called_and_its_result_answered(proxied, model, program, api):
    proxy = proxied()
    first, second = play(PROGRAMS[program], proxy, model, api)
    assert first.request["stream"] is True
    assert bool(second.request.get("stream")) is (program != "langchain")
    assert "item_reference" not in {item.get("type") for item in second.request.get("input", [])}
