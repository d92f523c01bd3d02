"""Logs and metrics never contain request text or keys, even at the most verbose log level."""
import os
import urllib.request

import pytest
from openai import AuthenticationError, BadRequestError, OpenAI
from server import Server

CANARY = "kumquat-7431"
KEY = "sk-canary-9182"


@pytest.fixture(scope="module")
def loud():
    os.environ["RUST_LOG"] = "trace"
    try:
        server = Server("--api-key", KEY)
    finally:
        del os.environ["RUST_LOG"]
    yield server
    server.process.terminate()
    server.process.wait(60)


def scrape(server):
    request = urllib.request.Request(server.address + "/metrics", headers={"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def test_logs_and_metrics_hold_no_request_text_and_no_key(loud):
    client = OpenAI(base_url=loud.address + "/v1", api_key=KEY, max_retries=0)
    client.responses.create(model="qwen3-tiny", input=f"Hello {CANARY}", instructions=CANARY, max_output_tokens=8)
    client.chat.completions.create(
        model="qwen3-tiny", messages=[{"role": "user", "content": CANARY}], stop=[CANARY], max_tokens=8
    )
    with pytest.raises(BadRequestError):
        client.responses.create(model="qwen3-tiny", input=[{"role": "user", "content": {"bad": CANARY}}])
    with pytest.raises(AuthenticationError):
        OpenAI(base_url=loud.address + "/v1", api_key=CANARY, max_retries=0).models.list()
    metrics = scrape(loud)
    assert 'sluice_requests_total{route="/v1/responses",status="200"} 1' in metrics
    assert "sluice_prompt_tokens_total" in metrics and "sluice_num_requests_running" in metrics
    loud.log.seek(0)
    log = loud.log.read()
    assert "turn ended" in log
    for secret in (CANARY, KEY):
        assert secret not in log
        assert secret not in metrics
