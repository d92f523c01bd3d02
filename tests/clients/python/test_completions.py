"""openai-python against Completions, and vLLM's routes for tokens, with the embedded model."""
import json
import urllib.request

from conftest import client_of

MODEL = "qwen3-tiny"
PROMPT = "<|im_start|>user\nWho are you?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


def post(server, path, body):
    request = urllib.request.Request(
        server.address + path, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_text_and_tokens_are_the_same_prompt(embedded):
    client = client_of(embedded)
    tokens = post(embedded, "/tokenize", {"prompt": PROMPT})["tokens"]
    assert post(embedded, "/detokenize", {"tokens": tokens})["prompt"] == PROMPT
    answer = client.completions.create(model=MODEL, prompt=[PROMPT, PROMPT], temperature=0, max_tokens=30)
    from_tokens = client.completions.create(model=MODEL, prompt=tokens, temperature=0, max_tokens=30)
    assert [choice.text for choice in answer.choices] == [from_tokens.choices[0].text] * 2
    assert answer.usage.prompt_tokens == 2 * len(tokens)


def test_the_stream_adds_up_with_its_log_probabilities(embedded):
    client = client_of(embedded)
    request = {"model": MODEL, "prompt": PROMPT, "temperature": 0, "max_tokens": 20, "logprobs": 2, "n": 2}
    plain = client.completions.create(**request)
    chunks = list(client.completions.create(**request, stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].usage.completion_tokens == plain.usage.completion_tokens
    for choice in plain.choices:
        parts = [part for chunk in chunks for part in chunk.choices if part.index == choice.index]
        assert "".join(part.text for part in parts) == choice.text
        # The token that ended the choice has an entry, and no text.
        written = choice.logprobs.tokens[: -1 if choice.finish_reason == "stop" else None]
        assert "".join(written) == choice.text
        assert [token for part in parts if part.logprobs for token in part.logprobs.tokens] == choice.logprobs.tokens
        assert all(len(top) in (2, 3) for top in choice.logprobs.top_logprobs)


def test_an_echo_and_a_stop(embedded):
    client = client_of(embedded)
    plain = client.completions.create(model=MODEL, prompt=PROMPT, temperature=0, max_tokens=30)
    word = plain.choices[0].text.split()[2]
    cut = client.completions.create(model=MODEL, prompt=PROMPT, temperature=0, max_tokens=30, stop=word, echo=True)
    assert cut.choices[0].finish_reason == "stop"
    assert cut.choices[0].text == PROMPT + plain.choices[0].text.split(word)[0]
