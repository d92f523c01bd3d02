"""Tests of the OpenAPI document: it is valid, and it describes the recorded answers of the protocols' tests and the answers of a running server."""
import copy
import json
import re
import subprocess
import urllib.error
import urllib.request

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from server import ROOT
from transcripts import CHAT_TOOLS, MESSAGES_TOOLS, PATCH_TOOL, RESPONSES_TOOLS, STEPS

MODEL = "qwen3-tiny"
DEFAULT = "http://127.0.0.1:8000"
TESTDATA = ROOT / "host/api/src/testdata"
PATHS = {
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "messages": "/v1/messages",
}


def fetch(server, path, body=None):
    """Returns status, media type and text of an answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.address + path, data, {"content-type": "application/json"})
    try:
        answer = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.headers.get_content_type(), answer.read().decode()


def strict(document):
    """Returns the document with closed objects, in which fields that it doesn't describe aren't valid."""
    document = copy.deepcopy(document)
    for schema in document["components"]["schemas"].values():
        variants = schema.get("anyOf", schema.get("oneOf", [])) if "properties" not in schema else [schema]
        for variant in variants:
            if "properties" in variant:
                variant["unevaluatedProperties"] = False
    return document


class Document:
    def __init__(self, whole):
        self.whole = whole
        self.strict = strict(whole)

    def schema(self, path, method, *keys, closed=True):
        found = (self.strict if closed else self.whole)["paths"][path][method]
        for key in keys:
            found = found[key]
        schema = found["schema"]
        return Draft202012Validator({**schema, "components": self.strict["components"]})

    def request(self, path):
        schema = self.whole["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        return Draft202012Validator({**schema, "components": self.whole["components"]})

    def answer(self, path, status, media="application/json", method="post"):
        return self.schema(path, method, "responses", str(status), "content", media)


@pytest.fixture(scope="session")
def document(replay):
    status, media, text = fetch(replay, "/openapi.json")
    assert (status, media) == (200, "application/json")
    return Document(json.loads(text))


def check(validator, value):
    errors = sorted(validator.iter_errors(value), key=lambda error: list(map(str, error.path)))
    assert not errors, f"{errors[0].message}\n{errors[0].context}\nin {json.dumps(value)[:2000]}"


def check_stream(validator, text):
    """Checks every event, and that its name is its type; returns the names."""
    seen = set()
    for frame in re.split(r"\n\n+", text.strip()):
        lines = [line for line in frame.splitlines() if not line.startswith(":")]
        if not lines:
            continue
        data = "\n".join(line.removeprefix("data: ") for line in lines if line.startswith("data: "))
        value = data if data == "[DONE]" else json.loads(data)
        check(validator, value)
        if names := [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]:
            assert names == [value["type"]]
            seen.update(names)
    return seen


def test_the_document_is_valid(document):
    assert document.whole["openapi"].startswith("3.1")
    validate(document.whole)
    for schema in document.whole["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_closed_schemas_catch_what_is_not_described(document):
    validator = document.answer("/v1/models", 200, method="get")
    model = {"id": "m", "object": "model", "created": 1, "owned_by": "sluice", "max_model_len": 9, "context_length": 9}
    check(validator, {"object": "list", "data": [model]})
    for wrong in ({**model, "more": 1}, {**model, "created": "1"}, {**model, "object": "models"}, {"id": "m"}):
        assert not validator.is_valid({"object": "list", "data": [wrong]})


@pytest.mark.parametrize("protocol", PATHS)
def test_recorded_answers_are_as_described(document, protocol):
    path = PATHS[protocol]
    streams = sorted(TESTDATA.glob(f"{protocol}-*.sse"))
    answers = sorted(TESTDATA.glob(f"{protocol}-*.json"))
    if protocol == "completions":
        assert not streams, "then they are to be checked"
        return
    assert len(streams) > 3 and len(answers) > 3
    events = document.answer(path, 200, "text/event-stream")
    seen = set()
    for stream in streams:
        seen |= check_stream(events, stream.read_text())
    for answer in answers:
        status, body = answer.read_text().split("\n", 1)
        check(document.answer(path, status), json.loads(body))
    if protocol == "responses":
        described = {ref["$ref"].rsplit("/", 1)[1] for ref in document.whole["components"]["schemas"]["ResponseStreamEvent"]["oneOf"]}
        # A background response's, of which a stream is checked below.
        seen.add("response.queued")
        assert seen == described, "the recordings have every event that is described"


def responses(question, **more):
    return {"model": MODEL, "input": question, "tools": RESPONSES_TOOLS, **more}


def chat(question, **more):
    return {"model": MODEL, "messages": [{"role": "user", "content": question}], "tools": CHAT_TOOLS, **more}


def messages(question, **more):
    turn = {"role": "user", "content": question}
    return {"model": MODEL, "max_tokens": 500, "messages": [turn], "tools": MESSAGES_TOOLS, **more}


RAW = {"model": MODEL, "prompt": "Once", "max_tokens": 8}
PLAIN = {"type": "custom", "name": "apply_patch", "description": "Edits files."}
REQUESTS = [
    *[("/v1/responses", responses(f"steps {step}")) for step in STEPS],
    ("/v1/responses", responses("steps one", reasoning={"summary": "auto"}, include=["reasoning.encrypted_content"])),
    ("/v1/responses", responses("steps two", top_logprobs=2, enable_response_messages=True)),
    ("/v1/responses", responses("patch three", tools=[PLAIN])),
    ("/v1/responses", responses("steps all", max_output_tokens=5)),
    ("/v1/responses", responses("steps two", background=True)),
    *[("/v1/chat/completions", chat(f"steps {step}")) for step in STEPS],
    ("/v1/chat/completions", chat("steps three", n=2, logprobs=True, top_logprobs=2, return_token_ids=True)),
    ("/v1/chat/completions", chat("patch two", tools=[PATCH_TOOL], stream_options={"include_usage": True, "include_obfuscation": True})),
    ("/v1/completions", RAW),
    ("/v1/completions", {**RAW, "n": 2, "logprobs": 1, "return_token_ids": True, "stream_options": {"include_usage": True}}),
    *[("/v1/messages", messages(f"steps {step}")) for step in STEPS],
    ("/v1/messages", messages("steps two", thinking={"type": "enabled", "budget_tokens": 1024})),
]


@pytest.mark.parametrize(("path", "body"), REQUESTS)
def test_answers_are_as_described(document, replay, embedded, path, body):
    server = embedded if path == "/v1/completions" else replay
    check(document.request(path), body)
    status, media, text = fetch(server, path, body)
    assert status == 200, text
    check(document.answer(path, 200, media), json.loads(text))
    status, media, text = fetch(server, path, {**body, "stream": True})
    assert (status, media) == (200, "text/event-stream")
    check_stream(document.answer(path, 200, media), text)


WRONG = [
    ("/v1/responses", {"model": MODEL, "input": 5}, 400),
    ("/v1/responses", {"model": "none", "input": "x"}, 404),
    ("/v1/chat/completions", {"model": MODEL, "messages": "x"}, 400),
    ("/v1/completions", {"model": MODEL}, 400),
    ("/v1/messages", {"model": MODEL, "max_tokens": 5, "messages": [{"role": "x", "content": ""}]}, 400),
    ("/v1/messages", {"model": "none", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]}, 404),
    ("/v1/messages/count_tokens", {"model": MODEL}, 400),
    ("/tokenize", {}, 400),
    ("/detokenize", {"tokens": "x"}, 400),
]


@pytest.mark.parametrize(("path", "body", "expected"), WRONG)
def test_refusals_are_as_described(document, replay, path, body, expected):
    status, media, text = fetch(replay, path, body)
    assert status == expected
    check(document.answer(path, status, media), json.loads(text))
    if expected == 400:
        assert not document.request(path).is_valid(body) or path == "/tokenize"


def test_the_other_routes_answer_as_described(document, replay):
    posts = [
        ("/v1/messages/count_tokens", {"model": MODEL, "messages": [{"role": "user", "content": "x"}]}),
        ("/tokenize", {"prompt": "Hello", "return_token_strs": True}),
        ("/tokenize", {"messages": [{"role": "user", "content": "Hello"}]}),
        ("/detokenize", {"tokens": [1, 2]}),
    ]
    for path, body in posts:
        check(document.request(path), body)
        status, media, text = fetch(replay, path, body)
        assert status == 200, text
        check(document.answer(path, 200, media), json.loads(text))
    for path, called in [("/v1/models", "/v1/models"), ("/v1/models/{id}", f"/v1/models/{MODEL}"), ("/health", "/health")]:
        status, media, text = fetch(replay, called)
        check(document.answer(path, status, media, "get"), json.loads(text))


def test_the_requests_of_real_agents_are_as_described(document):
    recorded = sorted((TESTDATA / "agents").glob("*.json"))
    assert len(recorded) > 5
    for file in recorded:
        request = json.loads(file.read_text())
        check(document.request(request["path"].split("?")[0]), request["body"])


# The page of what is left out is one of lists.
PAGES = sorted(page for page in (ROOT / "docs/api").glob("*.md") if page.stem != "left-out")
EXAMPLES = [
    (page.stem, block) for page in PAGES for block in re.findall(r"```sh\n(curl .*?)```", page.read_text(), re.S)
]


@pytest.mark.parametrize(("page", "example"), EXAMPLES)
def test_the_examples_of_the_pages_work(embedded, page, example):
    assert {name for name, _ in EXAMPLES} == {page.stem for page in PAGES}
    assert DEFAULT in example
    command = example.replace(DEFAULT, embedded.address).replace("curl ", "curl -sS --fail ", 1)
    assert subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout
