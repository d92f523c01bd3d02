"""Sends the fixtures' requests to a running engine and writes its answers, byte for byte except for what changes from run to run (ids, times,
paths).

    python capture.py KIND URL OUT_DIR          KIND: vllm_completions | vllm_generate | llamacpp

An answer is written to NAME.sse if it is a stream, else to NAME.json or .txt; statuses.txt has the status of each.
"""
import json
import pathlib
import re
import sys
import urllib.error
import urllib.request

# The prompts as token ids of qwen3-tiny: "Hello!", and a question about the weather in Paris and São Paulo with one tool.
PROMPTS = json.loads((pathlib.Path(__file__).parent / "../tests/remote/fixtures/prompts.json").read_text())
SAMPLING = {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "presence_penalty": 0.0,
            "frequency_penalty": 0.0, "seed": 7}
VLLM = {**SAMPLING, "repetition_penalty": 1.0, "stop_token_ids": [706, 704]}
LAST = ["content", "tokens", "stop", "stop_type", "tokens_predicted", "tokens_evaluated", "timings", "truncated"]


def completions(prompt, limit, logprobs=None, **more):
    body = {**VLLM, "model": "qwen3-tiny", "prompt": prompt, "max_tokens": limit, "stream": True,
            "stream_options": {"include_usage": True}, "return_token_ids": True, "skip_special_tokens": False}
    if logprobs:
        body |= {"logprobs": logprobs, "return_tokens_as_token_ids": True}
    return "/v1/completions", body | more


def generate(prompt, limit, logprobs=None, **more):
    sampling = {**VLLM, "max_tokens": limit, "detokenize": False}
    if logprobs:
        sampling["logprobs"] = logprobs
    if "structured_outputs" in more:
        sampling["structured_outputs"] = more.pop("structured_outputs")
    body = {"model": "qwen3-tiny", "token_ids": prompt, "request_id": "0" * 32, "sampling_params": sampling,
            "stream": True, "stream_options": {"include_usage": True}}
    return "/inference/v1/generate", body | more


def completion(prompt, limit, logprobs=None, **more):
    body = {**SAMPLING, "prompt": prompt, "n_predict": limit, "stream": True, "return_tokens": True,
            "cache_prompt": True, "repeat_penalty": 1.0, "repeat_last_n": 4096, "n_probs": logprobs or 0,
            "samplers": ["penalties", "temperature", "min_p", "top_k", "top_p"], "response_fields": LAST}
    return "/completion", body | more


VLLM_ROUTES = {"models": "/v1/models", "version": "/version", "metrics": "/metrics",
               "tokenize": ("/tokenize", {"model": "qwen3-tiny", "prompt": "What is \"São\"?", "add_special_tokens": False})}
VLLM_ERRORS = {"unknown_model": {"model": "nope"}, "lark_probe": {"structured_outputs": {"grammar": "start: <[707]>"}},
               "bad_grammar": {"structured_outputs": {"grammar": "root ::= ("}}}
KINDS = {
    "vllm_completions": (completions, VLLM_ROUTES, VLLM_ERRORS),
    "vllm_generate": (generate, VLLM_ROUTES, VLLM_ERRORS),
    "llamacpp": (completion, {
        "models": "/v1/models", "props": "/props", "metrics": "/metrics",
        "tokenize": ("/tokenize", {"content": "What is \"São\"?", "add_special": False, "parse_special": False}),
    }, {"bad_field": {"temperature": "x"}, "bad_grammar": {"grammar": "root ::= ("}}),
}
CHANGING = [(r'"created":\d+', '"created":0'), (r'cmpl-[0-9a-f]{16}', "cmpl-0"), (r'modelperm-[0-9a-f]+', "modelperm-0"),
            (r'"root":"[^"]*"', '"root":"qwen3-tiny"'), (r'"model_path":"[^"]*"', '"model_path":"qwen3-tiny"'),
            (r'("[a-z_]+(?:_ms|_per_second)":)[0-9.e+-]+', r"\g<1>1.0"), (r'media_[0-9A-Za-z]{32}', "media_0"),
            (r'"chat_template":"(?:[^"\\]|\\.)*"', '"chat_template":""'), (r'"id_slot":-?\d+', '"id_slot":0')]
GAUGES = r"^(?:vllm:(?:num_requests_\w+|kv_cache_usage_perc)|llamacpp:requests_\w+)\b.*\n"


def ask(url, path, body):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"content-type": "application/json"})
    try:
        answer = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as refusal:
        answer = refusal
    text = answer.read().decode()
    if path == "/metrics":
        text = "".join(re.findall(GAUGES, text, re.M))
    for pattern, fixed in CHANGING:
        text = re.sub(pattern, fixed, text)
    return answer.status, text


def main(kind, url, out):
    shape, routes, errors = KINDS[kind]
    hello, weather = PROMPTS["hello"], PROMPTS["weather"]
    asked = {name: (route, None) if isinstance(route, str) else route for name, route in routes.items()}
    asked |= {"message": shape(hello, 64), "calls": shape(weather, 200), "length": shape(weather, 21),
              "logprobs": shape(hello, 3, logprobs=2), "too_long": shape([510] * 5000, 8),
              "unknown_id": shape([99999], 8)}
    asked |= {name: shape(hello, 1, **more) for name, more in errors.items()}
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    statuses = []
    for name, (path, body) in asked.items():
        status, text = ask(url, path, body)
        ending = "sse" if text.startswith("data: ") else "txt" if path == "/metrics" else "json"
        (out / f"{name}.{ending}").write_text(text)
        statuses.append(f"{name} {status}\n")
    (out / "statuses.txt").write_text("".join(statuses))


if __name__ == "__main__":
    main(*sys.argv[1:])
