"""Libraries as their users write them, each with its packages in an environment of its own (`libraries/*_client.py`): a tool's call, its result
and the answer; an object of a type, by each way that the library has: a forced call, a schema, a JSON object. In every format."""
import json
import subprocess

import pytest
from conftest import HERE, UV
from turns import call, said, scripted
from weather import ANSWER

PERSON = {"name": "Ada Lovelace", "born": 1815}
CITY = {"city": "Zürich"}
# The names that libraries give to the tool whose forced call fills a type.
TOOLS = ["Person", "PartialPerson", "return_person", "__mirascope_formatted_output_tool__"]


def rules(form):
    """Returns the rules of the format's transcript, and what the libraries ask besides."""
    person = {"last_user_contains": "Ada Lovelace"}
    # smolagents' agent demands a call in every step, so that its answer is a call, too. Semantic Kernel renames the tool.
    last = {"tool_declared": "final_answer", "contains": "21 degrees"}
    answers = [{"when": last, "text": call(form, "final_answer", {"answer": ANSWER})}]
    answers += [{"when": {"tool_declared": "final_answer"}, "text": call(form, "get_weather", CITY)}]
    renamed = {"tool_declared": "Guide-get_weather", "tool_results": 0}
    answers += [{"when": renamed, "text": call(form, "Guide-get_weather", CITY)}]
    answers += [{"when": person | {"tool_declared": tool}, "text": call(form, tool, PERSON)} for tool in TOOLS]
    answers += [{"when": person, "text": said(form, json.dumps(PERSON))}]
    return answers + json.loads((HERE / f"transcripts/{form}.json").read_text())["rules"]


served = scripted(rules)
PROGRAMS = sorted((HERE / "libraries").glob("*_client.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem.removesuffix("_client"))
def test_a_library_calls_a_tool_and_fills_a_type(proxied, model, program):
    proxy = proxied()
    command = [UV, "run", "--quiet", "--no-project", "--script", program, proxy.address + "/v1", model]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.startswith('{"calls": ')]
    report = json.loads(line)
    assert report["people"] or report["text"], "the program shows nothing"
    assert all(person == PERSON for person in report["people"]), report
    if report["text"] is not None:  # some libraries put the turns' texts together
        assert report["text"].endswith(ANSWER) and report["calls"], report
    assert all(given == CITY for given in report["calls"]), report
    assert {exchange.status for exchange in proxy.exchanges} == {200}
