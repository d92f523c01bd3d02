"""Parsers in SGLang: `--tool-call-parser sluice-qwen3 --reasoning-parser sluice-qwen3` has both read by one parser.

SGLang calls `register` in each of its processes (entry point `sglang.srt.plugins`). Each parser that `sluice_parsers.names()` lists has the prefix
`sluice-`. Written for SGLang 0.5.22 and 0.5.23.

SGLang has text read twice, without the ids of its tokens: by a detector of reasoning, then by one of calls. Here the first one hands on the text
without the reasoning, markers included, which the second one reads with the same prompt. What SGLang tells neither, hooks do: the prompt's
end, and the tools.
"""

from __future__ import annotations

import functools
import logging
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import Bound, Delta, Stream, load, names
from ._parser import Trimmed
from ._turns import PREFIX, Said, Turns, opener, opens_reasoning, raise_fault

CHAT = "sglang.srt.entrypoints.openai.serving_chat.OpenAIServingChat"
RESPONSES = "sglang.srt.entrypoints.openai.serving_responses.OpenAIServingResponses"
REASONING = "sglang.srt.parser.reasoning_parser.ReasoningParser"
CALLS = "sglang.srt.function_call.function_call_parser.FunctionCallParser"
#: As with most of SGLang's own parsers, texts keep the white space at their ends.
UNTRIMMED: tuple[Trimmed, ...] = ()
logger = logging.getLogger("sglang.sluice_parsers")
#: Our parsers by the names that SGLang has for them, in lower case.
_names: dict[str, str] = {}


def register() -> None:
    """Adds the names, and the hooks that tell our parsers what they were asked."""
    from sglang.srt.function_call.function_call_parser import FunctionCallParser
    from sglang.srt.parser.reasoning_parser import ReasoningParser
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    if _names:
        return
    for name in names():
        # SGLang looks reasoning parsers up in lower case.
        _names[PREFIX + name.lower()] = name
        FunctionCallParser.ToolCallParserEnum[PREFIX + name] = calls_class(name)
        ReasoningParser.DetectorMap[PREFIX + name.lower()] = reasoning_class(name)
    HookRegistry.register(f"{CHAT}.__init__", _check, HookType.AFTER)
    HookRegistry.register(f"{CHAT}._process_messages", _note_prompt, HookType.AFTER)
    HookRegistry.register(f"{CHAT}._effective_tools", _tools_of_chat, HookType.AFTER)
    HookRegistry.register(f"{RESPONSES}._response_tools_to_chat_tools", _tools_of_responses, HookType.AFTER)
    HookRegistry.register(f"{REASONING}.__init__", _ask_reasoning, HookType.AROUND)
    HookRegistry.register(f"{CALLS}.__init__", _ask_calls, HookType.AFTER)


@functools.cache
def _bound(name: str) -> Bound:
    """A parser that finds markers in the text: SGLang gives its parsers nothing else."""
    return load(name).bind()


# What a request asks of its parsers.


class Asked(list[Any]):
    """Tools of a request, and what its prompt has of the model's turn. It is a list, since SGLang hands that on from the request to parsers of calls."""

    def __init__(self, tools: Iterable[Any] = (), opening: str = "") -> None:
        super().__init__(tools)
        self.opening = opening


class Noted:
    """The beginnings of the model's turn in the prompts of requests, while these are."""

    def __init__(self) -> None:
        self._openings: dict[int, tuple[weakref.ref[Any], str]] = {}

    def note(self, request: Any, opening: str) -> None:
        key = id(request)
        self._openings[key] = weakref.ref(request, lambda _: self._openings.pop(key, None)), opening

    def opening(self, request: Any) -> str | None:
        reference, opening = self._openings.get(id(request), (None, None))
        return opening if reference is not None and reference() is request else None


_noted = Noted()


def _turns(name: str, tokenizer: Any, request: Any) -> Turns:
    return Turns(_bound(name), tokenizer, getattr(request, "chat_template_kwargs", None) or {})


def _opening(name: str, tokenizer: Any, request: Any) -> str:
    """What the prompt has of the model's turn: noted, or what the template writes, as for Responses, whose prompts SGLang makes of another request."""
    noted = _noted.opening(request)
    if noted is None:
        noted = _turns(name, tokenizer, request).opening
        _noted.note(request, noted)
    return noted


def _is_forced(request: Any) -> bool:
    """Whether the model has to call a tool: SGLang forces a list in JSON then, and reads that itself."""
    effective = getattr(request, "effective_tool_choice", None)
    choice = effective() if effective else getattr(request, "tool_choice", None)
    return choice is not None and (not isinstance(choice, str) or choice == "required")


def _ours(serving: Any) -> str | None:
    """Name of our parser that a server reads with."""
    chosen = (serving.reasoning_parser, serving.tool_call_parser)
    return next((_names[name.lower()] for name in chosen if name and name.lower() in _names), None)


# Hooks.


def _check(_: None, serving: Any, *args: Any, **named: Any) -> None:
    """Says at the start what can't be."""
    name = _ours(serving)
    if name is None:
        return
    reasoning, calls = serving.reasoning_parser, serving.tool_call_parser
    if reasoning and calls and reasoning.lower() != calls.lower():
        raise ValueError(f"--reasoning-parser {reasoning} and --tool-call-parser {calls} cannot be combined: a parser of Sluice reads both")
    own = getattr(serving, "_encoding_output", None)
    if own is not None and own() is not None:
        logger.warning("SGLang reads the output of this model itself: %s isn't asked", PREFIX + name)
    elif getattr(serving, "is_gpt_oss", False):
        logger.warning("SGLang reads gpt-oss itself in /v1/responses: %s is asked in /v1/chat/completions alone", PREFIX + name)
    logger.info(
        "%s reads text without ids: a marker that the model only quotes is a marker. Forced calls are SGLang's own, in JSON; strict tools aren't enforced.",
        PREFIX + name,
    )


def _note_prompt(result: Any, serving: Any, request: Any, *args: Any, **named: Any) -> None:
    """Notes the prompt's end, and has the markers kept in the text that is read."""
    name = _ours(serving)
    if name is None:
        return
    turns = _turns(name, serving.tokenizer_manager.tokenizer, request)
    _noted.note(request, turns.written(result.prompt_ids or result.prompt or ""))
    if serving.reasoning_parser and request.separate_reasoning:
        request.skip_special_tokens = result.skip_special_tokens = False


def _asked_of(serving: Any, request: Any, tools: list[Any]) -> Asked | None:
    name = _ours(serving)
    return None if name is None else Asked(tools, _opening(name, serving.tokenizer_manager.tokenizer, request))


def _tools_of_chat(tools: list[Any], serving: Any, request: Any) -> Asked | None:
    return _asked_of(serving, request, tools)


def _tools_of_responses(tools: list[Any], serving: Any, request: Any) -> Asked | None:
    return _asked_of(serving, request, tools)


def _ask_calls(_: None, parser: Any, *args: Any, **named: Any) -> None:
    if isinstance(parser.detector, CallReader):
        parser.detector.ask(parser.tools)


def _ask_reasoning(
    made: Callable[..., None], parser: Any, model_type: Any = None, stream_reasoning: bool = True, force_reasoning: Any = None, request: Any = None,
    *args: Any, **named: Any,
) -> None:
    made(parser, model_type, stream_reasoning, force_reasoning, request, *args, **named)
    if isinstance(parser.detector, ReasoningReader):
        parser.detector.ask(request)


# Detectors.


def _texts(deltas: Sequence[Delta], *kinds: str) -> str:
    return "".join(delta.text for delta in deltas if delta.kind in kinds)


class NoCalls(str):
    """Text that was read for calls already, and has none: SGLang would warn of each answer whose text it has read in vain."""


class ReasoningReader:
    """Reads the reasoning of a turn, and hands on the rest. Classes of detectors for SGLang are made of it by `reasoning_class`."""

    _name: str

    def _begin(self, tokenizer: Any, hands_on: bool) -> None:
        self._tokenizer, self._hands_on, self._request = tokenizer, hands_on, None
        self._stream: Stream | None = None
        #: Reasoning that is given when its item ends.
        self._waiting = ""
        #: Reasoning of an answer that has nothing else yet.
        self._alone: str | None = ""

    def ask(self, request: Any) -> None:
        """Says which request's answer is read."""
        self._request = request
        self._hands_on = self._hands_on and not _is_forced(request)

    def _started(self) -> Stream:
        request = self._request
        tools = _tools(request) if self._hands_on else []
        opening = "" if request is None else _opening(self._name, self._tokenizer, request)
        # SGLang takes white space before the JSON of a forced call for a message.
        trim = ("message",) if _is_forced(request) else UNTRIMMED
        return _bound(self._name).start(tools=tools, prompt=opening, trim=trim, remainder=self._hands_on)

    def _read(self, text: str, is_end: bool) -> tuple[list[Delta], str]:
        """What comes of new text: deltas, and what is handed on."""
        if self._stream is None:
            self._stream = self._started()
        deltas = self._stream.push(text) + (self._stream.finish() if is_end else [])
        if self._alone is not None:
            says_more = any(delta.kind != "reasoning" for delta in deltas)
            self._alone = None if says_more else self._alone + _texts(deltas, "reasoning")
        return deltas, self._stream.take_remainder() if self._hands_on else _texts(deltas, "message")

    def _shown(self, deltas: Sequence[Delta], at_once: bool) -> str:
        """Reasoning to give now: all of it, or only that of items which ended."""
        shown = ""
        for delta in deltas:
            if delta.kind == "reasoning":
                self._waiting += delta.text
                if at_once or delta.status != "in_progress":
                    shown, self._waiting = shown + self._waiting, ""
        return shown


def _tools(request: Any) -> list[Any]:
    """Tools of a request for chat or a response that have a name, those in its messages included."""
    messages = getattr(request, "messages", None) or []
    lists = [getattr(asked, "tools", None) or [] for asked in (request, *messages)]
    return [tool for tools in lists for tool in tools if getattr(tool, "function", None) or getattr(tool, "name", None)]


def reasoning_class(name: str) -> type[Any]:
    """SGLang's class of a detector of reasoning for the parser of this name."""
    from sglang.srt.parser.reasoning_parser import BaseReasoningFormatDetector, StreamingParseResult

    class SluiceReasoning(ReasoningReader, BaseReasoningFormatDetector):
        """Reads one answer."""

        _name = name

        def __init__(
            self,
            stream_reasoning: bool = True,
            force_reasoning: bool = False,
            tokenizer: Any = None,
            tool_call_parser_active: bool = False,
            force_nonempty_content: bool = False,
            **_: Any,
        ) -> None:
            bound = _bound(name)
            opening = Turns(bound, tokenizer, {}).opening
            super().__init__(
                opener(bound),
                (bound.parser.reasoning_end or "").strip(),
                force_reasoning=force_reasoning,
                stream_reasoning=stream_reasoning,
                # Where SGLang can't tell by the template, whether the prompt opens reasoning does.
                reasoning_default="always" if opens_reasoning(bound, opening) else None,
                force_nonempty_content=force_nonempty_content,
            )
            self._begin(tokenizer, tool_call_parser_active)

        def detect_and_parse(self, text: str) -> StreamingParseResult:
            deltas, rest = self._read(text, is_end=True)
            if self._force_nonempty_content and self._alone is not None:
                return StreamingParseResult(self._alone, "")
            if self._hands_on and not any(delta.kind == "tool_call" for delta in deltas):
                rest = NoCalls(_texts(deltas, "message"))
            return StreamingParseResult(rest, self._shown(deltas, at_once=True))

        def parse_streaming_increment(self, new_text: str) -> StreamingParseResult:
            deltas, rest = self._read(new_text, is_end=False)
            return StreamingParseResult(rest, self._shown(deltas, self.stream_reasoning))

        def finish(self) -> StreamingParseResult:
            deltas, rest = self._read("", is_end=True)
            if self._force_nonempty_content and self._alone is not None:
                return StreamingParseResult(self._alone, "")
            return StreamingParseResult(rest, self._shown(deltas, at_once=True))

    return SluiceReasoning


class CallReader:
    """Reads the calls and messages of a turn. Classes of detectors for SGLang are made of it by `calls_class`."""

    _name: str

    def _begin(self) -> None:
        self._asked = Asked()
        self._stream: Stream | None = None
        #: Index of each call by that of its item.
        self._calls: dict[int, int] = {}
        self._said = Said("message", "reasoning")
        #: Those that SGLang shall not take for whole.
        self.incomplete_tool_call_indices: set[int] = set()

    def ask(self, tools: list[Any]) -> None:
        """Says which tools may be called, and how the prompt ends."""
        self._asked = tools if isinstance(tools, Asked) else Asked(tools)

    def _started(self) -> Stream:
        return _bound(self._name).start(tools=self._asked, prompt=self._asked.opening, trim=UNTRIMMED)

    def _read(self, text: str, is_end: bool) -> list[Delta]:
        if self._stream is None:
            self._stream = self._started()
        deltas = self._stream.push(text)
        if is_end:
            deltas += self._stream.finish()
            raise_fault(self._stream)
        return deltas

    def _pieces(self, deltas: Sequence[Delta]) -> list[tuple[int, str | None, str]]:
        """What is said of calls: index, name at first, arguments."""
        pieces: list[tuple[int, str | None, str]] = []
        for delta in deltas:
            if delta.kind != "tool_call":
                continue
            is_new = delta.item not in self._calls
            index = self._calls.setdefault(delta.item, len(self._calls))
            if is_new or delta.text:
                pieces.append((index, delta.name if is_new else None, delta.text))
            if delta.status == "incomplete":
                self.incomplete_tool_call_indices.add(index)
        return pieces


def calls_class(name: str) -> type[Any]:
    """SGLang's class of a detector of calls for the parser of this name."""
    from sglang.srt.function_call.base_format_detector import BaseFormatDetector
    from sglang.srt.function_call.core_types import StreamingParseResult, ToolCallItem

    class SluiceCalls(CallReader, BaseFormatDetector):
        """Reads one answer. Text that the model thinks is a part of the message: where reasoning is asked for, another detector has taken it."""

        _name = name

        def __init__(self) -> None:
            super().__init__()
            self._begin()

        def _result(self, deltas: Sequence[Delta], is_end: bool) -> StreamingParseResult:
            calls = [ToolCallItem(tool_index=index, name=called, parameters=text) for index, called, text in self._pieces(deltas)]
            return StreamingParseResult(normal_text=self._said.shown(deltas, is_end), calls=calls)

        def has_tool_call(self, text: str) -> bool:
            if isinstance(text, NoCalls):
                return False
            items = _bound(name).parse(text, tools=self._asked, prompt=self._asked.opening, trim=UNTRIMMED).items
            # Also where there is other markup, which a client would see.
            return any(item.kind == "tool_call" for item in items) or "".join(item.text for item in items) != text

        def detect_and_parse(self, text: str, tools: list[Any]) -> StreamingParseResult:
            read = self._result(self._read(text, is_end=True), is_end=True)
            whole: dict[int, ToolCallItem] = {}
            for piece in read.calls:
                whole.setdefault(piece.tool_index, ToolCallItem(tool_index=piece.tool_index, name=piece.name, parameters="")).parameters += piece.parameters
            return StreamingParseResult(normal_text=read.normal_text, calls=list(whole.values()))

        def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> StreamingParseResult:
            return self._result(self._read(new_text, is_end=False), is_end=False)

        def finish(self, tools: list[Any]) -> StreamingParseResult:
            return self._result(self._read("", is_end=True), is_end=True)

        @classmethod
        def parses_without_tools(cls) -> bool:
            # Some formats have tools of their own, as gpt-oss has python; without tools other calls are text all the same.
            return True

        def supports_structural_tag(self) -> bool:
            return False

        def structure_info(self) -> Any:
            raise NotImplementedError("a parser of Sluice has no structural tag: SGLang forces calls in JSON")

    return SluiceCalls
