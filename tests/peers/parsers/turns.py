"""What a parser makes of a turn, as plain values."""
import dataclasses
import json


# How prompts end that open reasoning.
OPENINGS = "<think>", "<mm:think>", "<seed:think>", "<|open|>think<|sep|>"


@dataclasses.dataclass
class Turn:
    """A turn that a chat template wrote, and what it means."""

    name: str
    tools: list
    prompt: str
    pieces: list
    reasoning: str
    content: str
    calls: list

    @property
    def text(self):
        return "".join(self.pieces)

    def is_opened(self):
        """Whether the prompt opens reasoning."""
        return self.prompt.rstrip().endswith(OPENINGS)

    def thinks(self):
        """Whether the model was asked to think."""
        return self.is_opened() or self.text.lstrip().startswith(OPENINGS)

    def is_read(self, made):
        """Whether these are its reasoning, message and calls; white space at the ends of texts aside."""
        return made is not None and (self.reasoning.strip(), self.content.strip(), self.calls) == (made[0].strip(), made[1].strip(), made[2])


def load(file):
    """Returns the turn of a case."""
    case = json.loads(file.read_text())
    items = case["expect"]["items"]
    said = lambda kind: "".join(item["text"] for item in items if item["type"] == kind)
    calls = [(item["name"], json.loads(item["arguments"])) for item in items if item["type"] == "tool_call"]
    tools = [{"type": "function", "function": {"name": tool["name"], "description": "", "parameters": tool["parameters"]}} for tool in case["tools"]]
    pieces = [chunk if isinstance(chunk, str) else chunk["text"] for chunk in case["chunks"]]
    return Turn(case["about"].split(",")[0], tools, case["generation_prompt"], pieces, said("reasoning"), said("message"), calls)


def without_end(turns, stops):
    """Removes what no server shows its parsers: a marker that ends turns and all behind it or, where none is known, what all turns end with."""
    for turn in turns:
        end = next((at for at, piece in enumerate(turn.pieces) if piece in stops), None)
        turn.pieces = turn.pieces[:end]
    while not stops and all(turn.pieces for turn in turns) and len({turn.pieces[-1] for turn in turns}) == 1:
        for turn in turns:
            turn.pieces.pop()
    return turns


class Collected:
    """Deltas, added up."""

    def __init__(self):
        self.reasoning, self.content, self.calls = "", "", {}

    def call(self, index, name, arguments):
        call = self.calls.setdefault(index, ["", ""])
        call[0] += name or ""
        call[1] += arguments or ""

    def made(self):
        try:
            return self.reasoning, self.content, [(name, json.loads(arguments or "{}")) for _, (name, arguments) in sorted(self.calls.items())]
        except ValueError:
            return None
