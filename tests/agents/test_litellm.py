"""LiteLLM as a client, over both protocols, in every format."""
import pathlib

import pytest
from weather import play

LITELLM = pathlib.Path(__file__).resolve().parent / "litellm"
PROGRAM = [LITELLM / ".venv/bin/python", LITELLM / "client.py"]


@pytest.mark.parametrize("api", ["responses", "chat"])
def test_a_tool_is_called_and_its_result_answered(proxied, model, api, monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it fetches its price list over the network
    first, second = play(PROGRAM, proxied(), model, api)
    assert first.request["stream"] is True
    assert not second.request.get("stream")
