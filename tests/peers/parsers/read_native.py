"""Turns read by the parsers of smg and of Dynamo, through the program `read` (../readers)."""
import json
import pathlib
import subprocess
import tomllib

from turns import Collected

CRATES = {"smg": "tool-parser", "symphony": "smg-symphony", "dynamo": "dynamo-parsers", "dynamo-v2": "dynamo-parsers-v2"}


class Reader:
    def __init__(self, program, project):
        self.project = project
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        locked = tomllib.loads((pathlib.Path(__file__).parents[1] / "Cargo.lock").read_text())["package"]
        self.version = next(package["version"] for package in locked if package["name"] == CRATES[project])

    def model(self, folder):
        """Needs none of its files."""

    def read(self, turn, calls, reasoning, streamed):
        tools = [{"name": tool["function"]["name"], "parameters": tool["function"]["parameters"]} for tool in turn.tools]
        opening = "reasoning" if turn.is_opened() else "answer" if turn.is_answer() else "nothing"
        known = {"tools": tools, "prompt": turn.prompt, "opening": opening, "thinks": turn.thinks()}
        ask = {"project": self.project, "calls": calls, "reasoning": reasoning, **known, "pieces": turn.pieces, "streamed": streamed}
        self.process.stdin.write(json.dumps(ask) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer is None:
            raise LookupError(f"{self.project} has no parsers {calls}, {reasoning}")
        if "panic" in answer:
            raise RuntimeError(answer["panic"])
        made = Collected()
        made.reasoning, made.content = answer["reasoning"], answer["content"]
        for index, call in enumerate(answer["calls"]):
            made.call(index, *call)
        return made.made()

    def whole(self, turn, calls, reasoning):
        return self.read(turn, calls, reasoning, streamed=False)

    def streamed(self, turn, calls, reasoning):
        return self.read(turn, calls, reasoning, streamed=True)
