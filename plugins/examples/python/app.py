"""Parser for Mistral's newer formats, in Python: `[THINK]…[/THINK]`, then text, then `[TOOL_CALLS]name[ARGS]{json}` any number of times.

A marker behind which no name stands was only mentioned, and is text. A call that the turn's end cuts off before its arguments is a broken call.
A parser routes the bytes that the host holds: every answer says where the oldest of them go. What no answer routes stays held.
"""

from typing import List, Tuple

from wit_world import exports
from wit_world.exports.parser import (
    Descriptor, FinishReason, Op_BrokenCall, Op_Bytes, Op_Close, Op_ToolCall, Op_UntilMarker, Payload, Request, Route, Run, Step,
    Step_Hold, Step_Ops, ToolCall, Trim,
)

MARKERS = ["[THINK]", "[/THINK]", "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "</s>"]
THINK, THINK_END, CALL, CALL_ID, ARGUMENTS, TURN_END = range(6)

# How the format spells a turn, for a host that forces calls and schemas.
GRAMMAR = r"""
%name 128 /[A-Za-z0-9_.:-]/
before: (gap? marker_0 text marker_1)?
call: marker_2 name marker_4 arguments
"""

# What the text between two markers is.
PROSE, NAME, ID, BODY = range(4)

NAME_CHARACTERS = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-")
LONGEST_NAME = 128


def may_be_name(text: str) -> bool:
    """Whether a tool's name may begin so, white space around it aside."""
    return len(text) <= LONGEST_NAME and set(text.strip()) <= NAME_CHARACTERS


def all_of(size: int, route: Route) -> Step:
    """All `size` bytes held go one way, and so does all text up to the next marker: the host needn't ask before that."""
    return Step_Ops([Op_Bytes(Run(route, size)), Op_UntilMarker(route)])


class Stream:
    """The parser of one stream."""

    def __init__(self) -> None:
        self.calling = False  # whether the request declares tools
        self.prose = Route.CONTENT
        self.state = PROSE
        self.name = ""
        self.held = 0  # bytes of the call's markup that the host holds for us

    def start(self, request: Request) -> None:
        self.calling = bool(request.tools)

    def text(self, chunk: str) -> Step:
        size = len(chunk.encode())
        if self.state == PROSE:
            return all_of(size, self.prose)
        if self.state == BODY:
            return all_of(size, Route.ARGUMENTS)
        self.held += size
        if self.state == NAME:
            self.name += chunk
            if not may_be_name(self.name):
                size, self.held, self.state = self.held, 0, PROSE
                return all_of(size, self.prose)
        return Step_Hold()

    def marker(self, index: int) -> Step:
        if index in (CALL, ARGUMENTS, CALL_ID) and not self.calling:
            return all_of(len(MARKERS[index]), self.prose)
        if index == ARGUMENTS and self.state in (NAME, ID) and self.name.strip():
            return self.open_call()
        if index == CALL_ID and self.state == NAME:
            self.state = ID
            return self.hold(index)
        # Whatever else a marker is, it ends what came before it.
        ops = self.end_call(index == TURN_END)
        if index == CALL:
            self.state, self.name = NAME, ""
            self.held = 0
            self.hold(index)
            return Step_Ops(ops) if ops else Step_Hold()
        self.prose = Route.REASONING if index == THINK else Route.CONTENT
        self.state = PROSE
        ops.append(Op_Bytes(Run(Route.DROP, len(MARKERS[index]))))
        if index == THINK_END:
            ops.append(Op_Close())
        return Step_Ops(ops)

    def finish(self, reason: FinishReason) -> Step:
        # Arguments are whole only if the model came this far by itself.
        ops = [] if self.state == BODY and reason != FinishReason.STOP else self.end_call(True)
        return Step_Ops(ops) if ops else Step_Hold()

    def hold(self, index: int) -> Step:
        self.held += len(MARKERS[index])
        return Step_Hold()

    def open_call(self) -> Step:
        self.state = BODY
        markup = self.held + len(MARKERS[ARGUMENTS])
        self.held = 0
        return Step_Ops([
            Op_ToolCall(ToolCall(self.name.strip(), Payload.JSON)),
            Op_Bytes(Run(Route.DROP, markup)),
        ])

    def end_call(self, turn_ends: bool) -> List:
        """An open call is complete. A name without arguments is a broken call at the turn's end, and text elsewhere; no name is nothing."""
        state, self.state = self.state, PROSE
        held, self.held = self.held, 0
        if state == PROSE:
            return []
        if state == BODY:
            return [Op_Close()]
        if turn_ends:
            return [Op_Bytes(Run(Route.DROP, held)), Op_BrokenCall()]
        return [Op_Bytes(Run(self.prose if self.name.strip() else Route.DROP, held))]


# An instance of the component serves one stream, and componentize-py makes a new `Parser` for every call: the state lives here.
stream = Stream()


class Parser(exports.Parser):
    """The component's exports."""

    def describe(self, options: List[Tuple[str, str]]) -> Descriptor:
        return Descriptor(
            name="mistral-py",
            version="0.1.0",
            models=[],
            markers=MARKERS,
            stops=[TURN_END],
            trim=Trim.REASONING | Trim.CONTENT,
            history_call_ids=None,
            grammar=GRAMMAR,
            reasoning_end=MARKERS[THINK_END],
            needs=[],
            properties=[],
        )

    def start(self, request: Request) -> None:
        stream.start(request)

    def text(self, chunk: str) -> Step:
        return stream.text(chunk)

    def marker(self, index: int) -> Step:
        return stream.marker(index)

    def finish(self, reason: FinishReason) -> Step:
        return stream.finish(reason)
