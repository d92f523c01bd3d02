"""End of the process: after the first signal it waits for streams, after the second it doesn't."""
import subprocess

import pytest
from openai import OpenAI
from server import Server, replay_file


def test_a_second_signal_cuts_what_the_first_one_waits_for(tmp_path):
    server = Server("--engine", replay_file(tmp_path, [{"text": "Hello", "finish": "hang"}]))
    client = OpenAI(base_url=server.address + "/v1", api_key="none", max_retries=0)
    stream = iter(client.responses.create(model="qwen3-tiny", input="x", stream=True))
    assert next(stream).type == "response.created"
    server.process.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(1)
    server.process.terminate()
    assert server.process.wait(10) == 0
