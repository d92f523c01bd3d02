"""Parser for Mistral's newer formats, in Python: `[THINK]…[/THINK]`, then text, then `[TOOL_CALLS]name[ARGS]{json}` any number of times.

A marker behind which no name stands was only mentioned, and is text. A call that the turn's end cuts off before its arguments is a broken call.
A parser routes the bytes that the host holds: every answer says where the oldest of them go. What no answer routes stays held.
"""

import re
from typing import List, Optional, Tuple

from wit_world import exports
from wit_world.exports.parser import (
    Descriptor, FinishReason, InString, JsonRest, Op_BrokenCall, Op_Bytes, Op_Close, Op_ToolCall,
    Op_UntilByte, Op_UntilJson, Op_UntilMarker, Payload, Request, Route, Run, Step, Step_Hold, Step_Ops, ToolCall, ToolKind, Trim, Until,
)

MARKERS = ["[THINK]", "[/THINK]", "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "</s>"]
THINK, THINK_END, CALL, CALL_ID, ARGUMENTS, TURN_END = range(6)

# How the format spells a turn, for a host that forces calls and schemas.
GRAMMAR = r"""
%name 128 /[A-Za-z0-9_.:-]/
before: (gap? marker_0 text marker_1)?
call: marker_2 name marker_4 arguments
"""

# What the text between two markers is: prose, a call's name, its id, and of its arguments the beginning, a JSON object, the text of a custom
# tool as a JSON string, the end behind that, or something else.
PROSE, NAME, ID, HEAD, JSON, INPUT, END, OTHER = range(8)

NAME_CHARACTERS = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-")
LONGEST_NAME = 128


def may_be_name(text: str) -> bool:
    """Whether a tool's name, or a call's id, may begin so, white space around it aside."""
    return len(text) <= LONGEST_NAME and set(text.strip()) <= NAME_CHARACTERS


def all_of(size: int, route: Route) -> Step:
    """All `size` bytes held go one way, and so does all text up to the next marker: the host needn't ask before that."""
    return Step_Ops([Op_Bytes(Run(route, size)), Op_UntilMarker(route)])


def json_rest(text: str) -> Tuple[Optional[int], int, InString]:
    """Reads JSON behind an object's `{`. Returns where its `}` is, if it is there, and else how many brackets and whether a string are open."""
    depth, place = 1, InString.NO
    for at, char in enumerate(text):
        if place == InString.AFTER_BACKSLASH:
            place = InString.YES
        elif place == InString.YES:
            place = {'"': InString.NO, "\\": InString.AFTER_BACKSLASH}.get(char, InString.YES)
        elif char == '"':
            place = InString.YES
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return at, depth, place
    return None, depth, place


class Stream:
    """The parser of one stream."""

    def __init__(self) -> None:
        self.calling = False  # whether the request declares tools
        self.custom = set()  # names of the tools whose input is text: it comes as `{"input": "…"}`
        self.tokens = set()  # markers that text can't spell
        self.prose = Route.CONTENT
        self.state = PROSE
        self.name = ""
        self.id = ""
        self.held = 0  # bytes of the call's markup that the host holds for us

    def start(self, request: Request) -> None:
        self.calling = bool(request.tools)
        self.custom = {tool.name for tool in request.tools if tool.kind == ToolKind.CUSTOM}
        self.tokens = set(request.token_markers)

    def text(self, chunk: str) -> Step:
        size = len(chunk.encode())
        if self.state == PROSE:
            return all_of(size, self.prose)
        if self.state == OTHER:
            return all_of(size, Route.ARGUMENTS)
        if self.state == JSON:
            return Step_Ops(self.end_json(chunk, Route.ARGUMENTS))
        if self.state == INPUT:
            return Step_Ops(self.input(chunk))
        if self.state == END:
            return Step_Ops(self.end_json(chunk, Route.DROP))
        self.held += size
        if self.state == HEAD:
            return self.begin_json(chunk)
        if self.state == NAME:
            self.name += chunk
        else:
            self.id += chunk
        if not may_be_name(self.name if self.state == NAME else self.id):
            size, self.held, self.state = self.held, 0, PROSE
            return all_of(size, self.prose)
        return Step_Hold()

    def marker(self, index: int) -> Step:
        if self.state == INPUT and index != TURN_END and index not in self.tokens:
            return Step_Ops(self.input(MARKERS[index]))
        if index in (CALL, ARGUMENTS, CALL_ID) and not self.calling:
            return all_of(len(MARKERS[index]), self.prose)
        if index == ARGUMENTS and self.state in (NAME, ID) and self.name.strip():
            return self.open_call()
        if index == CALL_ID and self.state == NAME:
            self.state, self.id = ID, ""
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
        ops = [] if self.state in (HEAD, JSON, INPUT, END, OTHER) and reason != FinishReason.STOP else self.end_call(True)
        return Step_Ops(ops) if ops else Step_Hold()

    def hold(self, index: int) -> Step:
        self.held += len(MARKERS[index])
        return Step_Hold()

    def open_call(self) -> Step:
        markup = self.held + len(MARKERS[ARGUMENTS])
        self.state, self.held, self.head = HEAD, 0, ""
        self.name = self.name.strip()
        payload = Payload.TEXT if self.name in self.custom else Payload.JSON
        return Step_Ops([Op_ToolCall(ToolCall(self.name, payload)), Op_Bytes(Run(Route.DROP, markup))])

    def begin_json(self, chunk: str) -> Step:
        """Reads up to where the arguments' JSON begins, or the string in it that is a custom tool's input."""
        self.head += chunk
        is_text = self.name in self.custom
        begins = re.match(r'\s*\{\s*"input"\s*:\s*"' if is_text else r"\s*\{", self.head)
        if not begins:
            may_begin = re.fullmatch(r'\s*(\{\s*("(i(n(p(u(t("\s*(:\s*)?)?)?)?)?)?)?)?)?', self.head)
            if may_begin:
                return Step_Hold()
            size, self.held, self.state = self.held, 0, OTHER
            return all_of(size, Route.ARGUMENTS)
        head, rest = self.head[:begins.end()], self.head[begins.end():]
        self.held, self.escaped, self.state = 0, False, INPUT if is_text else JSON
        if is_text:
            return Step_Ops([Op_Bytes(Run(Route.DROP, len(head)))] + self.input(rest))
        # The host finds the end: markers inside the object's strings are text.
        end, depth, place = json_rest(rest)
        ops = [Op_Bytes(Run(Route.ARGUMENTS, len((head + rest[:end]).encode())))]
        if end is None:
            return Step_Ops(ops + [Op_UntilJson(JsonRest(Route.ARGUMENTS, depth, place))])
        return Step_Ops(ops + self.end_json(rest[end:], Route.ARGUMENTS))

    def input(self, text: str) -> List:
        """Routes text of the string, which the host decodes."""
        for at, char in enumerate(text):
            if self.escaped:
                self.escaped = False
            elif char == '"':
                return [Op_Bytes(Run(Route.ARGUMENTS_UNESCAPED, len(text[:at].encode())))] + self.end_json(text[at:], Route.DROP)
            else:
                self.escaped = char == "\\"
        ops = [Op_Bytes(Run(Route.ARGUMENTS_UNESCAPED, len(text.encode())))]
        return ops if self.escaped else ops + [Op_UntilByte(Until(Route.ARGUMENTS_UNESCAPED, '"\\'))]

    def end_json(self, text: str, route: Route) -> List:
        """Routes what closes the arguments' object. Prose follows."""
        end = text.find("}") + 1
        if end == 0:
            self.state = END
            return [Op_Bytes(Run(route, len(text.encode())))]
        self.state = PROSE
        head, behind = text[:end].encode(), text[end:].encode()
        return [Op_Bytes(Run(route, len(head))), Op_Close(), Op_Bytes(Run(self.prose, len(behind))), Op_UntilMarker(self.prose)]

    def end_call(self, turn_ends: bool) -> List:
        """An open call is complete. A name without arguments is a broken call at the turn's end, and text elsewhere; no name is nothing."""
        state, self.state = self.state, PROSE
        held, self.held = self.held, 0
        if state == PROSE:
            return []
        if state in (HEAD, JSON, INPUT, END, OTHER):
            return [Op_Bytes(Run(Route.ARGUMENTS, held)), Op_Close()]
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
