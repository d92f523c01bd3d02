"""Turns, and what a parser makes of one, as plain values."""
import dataclasses
import json

# How prompts end that open reasoning, and those that open the message or end reasoning.
OPENINGS = "<think>", "<mm:think>", "<seed:think>", "<|open|>think<|sep|>"
CLOSINGS = "</think>", "</mm:think>", "</seed:think>", "<|open|>response<|sep|>"


@dataclasses.dataclass
class Turn:
    """A turn, and what it means."""

    name: str
    tools: list
    prompt: str
    pieces: list
    end: str
    reasoning: str
    content: str
    calls: list

    @property
    def text(self):
        return "".join(self.pieces)

    def is_opened(self):
        """Whether the prompt opens reasoning."""
        return self.prompt.rstrip().endswith(OPENINGS)

    def is_answer(self):
        """Whether the prompt opens the message, or ends reasoning."""
        return self.prompt.rstrip().endswith(CLOSINGS)

    def thinks(self):
        """Whether the model was asked to think."""
        return self.is_opened() or bool(self.reasoning) or self.text.lstrip().startswith(OPENINGS)

    def is_read(self, made):
        """Whether these are its reasoning, message and calls; white space at the ends of texts aside."""
        return made is not None and (self.reasoning.strip(), self.content.strip(), self.calls) == (made[0].strip(), made[1].strip(), made[2])


# Ends of turns that servers show their parsers, since they end a call, too.
SHOWN = ("<|call|>",)


def load(file, stops):
    """Returns the turn of a case, and what it means: all arguments are JSON."""
    case = json.loads(file.read_text())
    turn = written(case, case.get("about", file.stem).split(",")[0], stops)
    items = case["expect"]["items"]
    turn.reasoning, turn.content = ("".join(item["text"] for item in items if item["type"] == kind) for kind in ("reasoning", "message"))
    turn.calls = [(item["name"], json.loads(item["arguments"])) for item in items if item["type"] == "tool_call"]
    return turn


def written(case, name, stops):
    """Returns what is written in a case, without the first of the markers `stops` and all behind it: the marker is its end, unless it is shown."""
    named = [tool if isinstance(tool, dict) else {"name": tool} for tool in case.get("tools", [])]
    tools = [{"type": "function", "function": {"name": tool["name"], "description": "", "parameters": tool.get("parameters", {"type": "object"})}} for tool in named]
    pieces, end = until(case, stops)
    pieces, end = ([*pieces, end], "") if end in SHOWN else (pieces, end)
    return Turn(name, tools, case.get("generation_prompt", ""), pieces, end, "", "", [])


def until(case, stops):
    """Returns the chunks' texts before the first marker that ends turns, and the marker. In a case of markers by id, a plain string has none."""
    pieces = []
    for chunk in case["chunks"]:
        text = chunk if isinstance(chunk, str) else chunk["text"]
        has_markers = case.get("markers") != "id" or not isinstance(chunk, str)
        found = [(text.find(stop), stop) for stop in stops if stop in text] if has_markers else []
        if found:
            at, stop = min(found)
            return [piece for piece in [*pieces, text[:at]] if piece], stop
        pieces.append(text)
    return pieces, ""


def without_end(turns):
    """Moves what all turns end with to their ends: no server shows its parsers that."""
    while all(turn.pieces for turn in turns) and len({turn.pieces[-1] for turn in turns}) == 1:
        for turn in turns:
            turn.end = turn.pieces.pop() + turn.end
    return turns


def fair(turns, left_out):
    """Returns the turns of which the template alone says what is right, without those named; the others would measure what we think."""
    texts = {turn.name: turn.text for turn in turns}
    none = texts.get("like-none", "")

    def is_fair(turn):
        # Line ends between markers are ours, not the template's.
        ours = turn.name == "line-ends"
        # A value that may be text or null, which the template writes like a text of that word.
        either = turn.name == "null" and turn.text.replace("zknul", "zkone") in (none, none.replace("None", "null"))
        # The prompt says that reasoning is over, and reasoning follows.
        contradicts = turn.is_answer() and turn.reasoning
        return not (ours or either or contradicts or turn.name in left_out)

    return list(filter(is_fair, turns))


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
