"""Runs the harness against a server and compares what it found with what direct requests say."""
import json
import math
import os
import tempfile
import urllib.request

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_HOME=tempfile.mkdtemp(prefix="sluice-evaluation-"))

import lm_eval
from lm_eval.tasks import TaskManager
from server import Server

MODEL = "qwen3-tiny"


def post(server, path, **body):
    request = urllib.request.Request(server.address + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def tokens(server, text):
    return post(server, "/tokenize", prompt=text, add_special_tokens=False)["tokens"]


def likelihood(server, ids, begin):
    """The log-probability of `ids[begin:]` behind `ids[:begin]`, by one request."""
    answer = post(server, "/v1/completions", model=MODEL, prompt=ids, echo=True, logprobs=0, max_tokens=0)
    return sum(answer["choices"][0]["logprobs"]["token_logprobs"][begin:])


def evaluate(server, model, path, tasks, **options):
    arguments = {"model": MODEL, "base_url": server.address + path, "num_concurrent": 2, "max_length": 1024, **options}
    chat = {"apply_chat_template": True} if model == "local-chat-completions" else {}
    return lm_eval.simple_evaluate(
        model=model, model_args=arguments, tasks=tasks, task_manager=TaskManager(include_path="."), log_samples=True,
        bootstrap_iters=0, **chat,
    )


def close(found, expected):
    assert math.isclose(found, expected, rel_tol=1e-4, abs_tol=1e-3), f"{found} instead of {expected}"


def check_choices(server, results):
    right = 0
    samples = results["samples"]["choices"]
    for sample in samples:
        context, direct = sample["doc"]["question"] + "\nAnswer:", []
        for choice, [[found, _]] in zip(sample["doc"]["choices"], sample["resps"], strict=True):
            ids = tokens(server, context + " " + choice)
            direct.append(likelihood(server, ids, len(tokens(server, context))))
            close(float(found), direct[-1])
        right += direct.index(max(direct)) == sample["doc"]["answer"]
    close(results["results"]["choices"]["acc,none"], right / len(samples))
    return len(samples)


def check_texts(server, results):
    samples = results["samples"]["texts"]
    with urllib.request.urlopen(server.address + "/tokenizer_info", timeout=60) as answer:
        # The harness begins a text behind this token, where the model has no other.
        eos = json.load(answer)["eos_token"]
    for sample in samples:
        [[found]] = sample["resps"]
        close(float(found), likelihood(server, tokens(server, eos) + tokens(server, sample["doc"]["text"]), 1))
    assert results["results"]["texts"]["byte_perplexity,none"] > 1
    return len(samples)


def check_answers(results, direct):
    for sample in results["samples"]["answers"]:
        [[found]] = sample["resps"]
        expected = direct(sample["doc"]["question"])
        assert found == expected, f"{found!r} instead of {expected!r}"
    return len(results["samples"]["answers"])


def main():
    server = Server()
    stop = {"temperature": 0, "max_tokens": 24}

    def completion(question):
        return post(server, "/v1/completions", model=MODEL, prompt=question, stop=["\n", "<|im_end|>"], **stop)["choices"][0]["text"]

    def chat(question):
        messages = [{"role": "user", "content": question}]
        answer = post(server, "/v1/chat/completions", model=MODEL, messages=messages, stop=["\n"], **stop)
        return answer["choices"][0]["message"]["content"]

    count = 0
    for options in [{"tokenizer_backend": "remote"}, {"tokenizer_backend": "auto", "tokenized_requests": False}]:
        tasks = ["choices", "texts", "answers"]
        results = evaluate(server, "local-completions", "/v1/completions", tasks, **options)
        count += check_choices(server, results) + check_texts(server, results) + check_answers(results, completion)
    results = evaluate(server, "local-chat-completions", "/v1/chat/completions", ["answers"])
    count += check_answers(results, chat)
    server.stop()
    print(f"lm_eval {lm_eval.__version__}: {count} samples have the scores and texts of direct requests")


main()
