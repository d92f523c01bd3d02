"""Parsers in vLLM: `--tool-call-parser sluice-qwen3 --enable-auto-tool-choice --reasoning-parser sluice-qwen3` has both read by one parser.

vLLM calls `register` at its start (entry point `vllm.general_plugins`). Each parser that `sluice_parsers.names()` lists has the prefix `sluice-`.
Written for vLLM 0.32 and 0.33. What stays vLLM's: gpt-oss, which it reads itself whatever is named, and forced calls (`tool_choice` `required` or a name), which are
read as any others, and not forced.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import Bound, Delta, Stream, load, names
from ._parser import Trimmed
from ._turns import PREFIX, Said, Turns, opener, raise_fault

if TYPE_CHECKING:
    from vllm.entrypoints.generate.base.protocol import DeltaMessage, FunctionCall
    from vllm.parser.abstract_parser import Parser
    from vllm.reasoning.abs_reasoning_parsers import ReasoningParser

logger = logging.getLogger("vllm.sluice_parsers")
#: Parsers of Qwen's formats: vLLM's own leave their reasoning as the model wrote it.
KEEPS_REASONING = frozenset({"qwen3", "qwen3-coder"})


def register() -> None:
    """Adds the names, and has vLLM make our parser where one of them is chosen."""
    from vllm.parser.parser_manager import ParserManager
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    compose = getattr(ParserManager, "_compose_parser", None)
    if compose is None:
        logger.error("sluice-parsers is written for vLLM 0.32 and 0.33: its parsers can't be chosen in this one")
        return
    if getattr(compose, "is_sluice", False):
        return
    for name in names():
        # The command line checks this name; what reads calls is made below.
        ToolParserManager.register_lazy_module(PREFIX + name, "vllm.tool_parsers.abstract_tool_parser", "ToolParser")
        ReasoningParserManager.register_module(PREFIX + name, module=reasoner_class(name))

    def ours_or_theirs(tool_parser_name: str | None, reasoning_parser_name: str | None, **others: Any) -> type[Parser] | None:
        chosen = {name for name in (tool_parser_name, reasoning_parser_name) if name}
        if not any(name.startswith(PREFIX) for name in chosen) or others.get("is_harmony"):
            theirs: type[Parser] | None = compose(tool_parser_name=tool_parser_name, reasoning_parser_name=reasoning_parser_name, **others)
            return theirs
        if len(chosen) > 1:
            raise TypeError(
                f"--reasoning-parser {reasoning_parser_name} and --tool-call-parser {tool_parser_name} cannot be combined: a parser of Sluice reads both"
            )
        reads_calls = bool(tool_parser_name) and others.get("enable_auto_tools", False)
        return parser_class(chosen.pop().removeprefix(PREFIX), reads_calls, bool(reasoning_parser_name))

    ours_or_theirs.is_sluice = True  # type: ignore[attr-defined]
    ParserManager._compose_parser = staticmethod(ours_or_theirs)


@functools.lru_cache(maxsize=32)
def _bound(name: str, tokenizer: Any) -> Bound:
    """A parser bound to a tokenizer, which vLLM keeps as long as it runs."""
    return load(name).bind(tokenizer)


def _arguments(named: Mapping[str, Any]) -> Mapping[str, Any]:
    """Arguments of the chat template in what vLLM makes parsers with."""
    return named.get("chat_template_kwargs") or {}


def _trim(bound: Bound) -> Sequence[Trimmed]:
    """What loses the white space at its ends, as with vLLM's own parsers: no message, and the reasoning of most formats."""
    name = bound.parser.name
    return [kind for kind in bound.parser.trim if kind == "reasoning" and name not in KEEPS_REASONING]


@functools.cache
def reasoner_class(name: str) -> type[ReasoningParser]:
    """The class by which vLLM's engine asks whether reasoning has ended, before it holds the output to a grammar. It reads nothing else."""
    from vllm.reasoning.abs_reasoning_parsers import ReasoningParser

    class SluiceReasoning(ReasoningParser):
        """Says where reasoning ends."""

        def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
            super().__init__(tokenizer, *args, **kwargs)
            self._turns = Turns(_bound(name, tokenizer), tokenizer, _arguments(kwargs))

        @property
        def reasoning_start_str(self) -> str | None:
            return opener(self._turns.bound) or None

        @property
        def reasoning_end_str(self) -> str | None:
            return self._turns.bound.parser.reasoning_end

        def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
            return self._turns.is_reasoning_over(input_ids)

        def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
            end = (self.reasoning_end_str or "").strip()
            # The end may have begun in earlier steps: it has no more tokens than bytes.
            new = len(list(delta_ids)) + len(end)
            return bool(end) and end in self._turns.text(input_ids[-new:])

    return SluiceReasoning


@functools.cache
def parser_class(name: str, reads_calls: bool, shows_reasoning: bool) -> type[Parser]:
    """The class of vLLM's `Parser` for the parser of this name. Without `reads_calls` calls are left in the text, and without `shows_reasoning`
    reasoning is a part of the message, as where vLLM has no parser for either.
    """
    from vllm.entrypoints.generate.base.protocol import DeltaFunctionCall, DeltaMessage, DeltaToolCall, FunctionCall
    from vllm.parser.abstract_parser import Parser
    from vllm.parser.utils import count_history_tool_calls
    from vllm.tool_parsers.abstract_tool_parser import ToolParser

    class SluiceParser(Parser):
        """Reads one request's output."""

        always_adjust_request = True
        # By these vLLM knows what is read. It makes one of each for a request, and asks neither.
        tool_parser_cls = ToolParser if reads_calls else None
        reasoning_parser_cls = reasoner_class(name) if shows_reasoning else None

        def __init__(self, tokenizer: Any, tools: list[Any] | None = None, *args: Any, **kwargs: Any) -> None:
            super().__init__(tokenizer, tools, *args, **kwargs)
            self._turns, self._tools = Turns(_bound(name, tokenizer), tokenizer, _arguments(kwargs)), tools
            self._bound = self._turns.bound
            self._prompt: str | None = None
            self._stream: Stream | None = None
            #: Index of each call by that of its item.
            self._calls: dict[int, int] = {}
            self._thought, self._said = self._parts()

        def _parts(self) -> tuple[Said, Said]:
            """What is shown of a turn as reasoning, and as its message."""
            return (Said("reasoning"), Said("message")) if shows_reasoning else (Said(), Said("message", "reasoning"))

        @property
        def _opened(self) -> str:
            return self._turns.opening if self._prompt is None else self._prompt

        def _started(self, request: Any) -> dict[str, Any]:
            tools = self._tools or getattr(request, "tools", None) or []
            calls = "none" if getattr(request, "tool_choice", None) == "none" else "any"
            # What clients send back is what the template writes: vLLM spells no ids anew.
            earlier = count_history_tool_calls(request) if self._bound.parser.history_call_ids else None
            return {
                "tools": tools if reads_calls else [], "calls": calls, "prompt": self._opened, "trim": _trim(self._bound), "earlier_calls": earlier
            }

        def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
            self._prompt = self._turns.written(prompt_token_ids)

        def adjust_request(self, request: Any) -> Any:
            # Markers are read by their text and ids.
            request.skip_special_tokens = False
            return request

        def is_reasoning_end(self, input_ids: list[int]) -> bool:
            return self._turns.is_reasoning_over(input_ids)

        def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
            stream = self._bound.start(prompt=self._opened)
            stream.push(self._turns.text(token_ids), list(token_ids))
            stream.finish()
            return stream.reasoning_tokens

        def parse(
            self, model_output: str, request: Any, enable_auto_tools: bool = False, model_output_token_ids: Sequence[int] = ()
        ) -> tuple[str | None, str | None, list[FunctionCall] | None]:
            turn = self._bound.parse(model_output, model_output_token_ids or None, **self._started(request))
            raise_fault(turn)
            made = [FunctionCall(id=item.call_id, name=item.name, arguments=item.text) for item in turn.items if item.kind == "tool_call"]
            reasoning, content = (part.shown(turn.items, is_end=True) or None for part in self._parts())
            return reasoning, content, made or None

        def parse_delta(
            self,
            delta_text: str,
            delta_token_ids: list[int],
            request: Any,
            prompt_token_ids: list[int] | None = None,
            *,
            finished: bool,
        ) -> DeltaMessage | None:
            if self._stream is None:
                if prompt_token_ids is not None:
                    self.set_prompt_token_ids(prompt_token_ids)
                self._stream = self._bound.start(**self._started(request))
            deltas = self._stream.push(delta_text, list(delta_token_ids))
            if finished:
                deltas += self._stream.finish()
                raise_fault(self._stream)
            return self._message(deltas, request, finished)

        def _message(self, deltas: list[Delta], request: Any, is_end: bool) -> DeltaMessage | None:
            thought = self._thought.shown(deltas, is_end)
            reasoning = thought if thought and request.include_reasoning else None
            calls = self._calls_of(deltas)
            content = self._said.shown(deltas, is_end) or None
            if not (reasoning or content or calls):
                return None
            return DeltaMessage(reasoning=reasoning, content=content, tool_calls=calls)

        def _calls_of(self, deltas: list[Delta]) -> list[DeltaToolCall]:
            """What is new of calls, each of them once."""
            calls: dict[int, DeltaToolCall] = {}
            for delta in deltas:
                if delta.kind != "tool_call":
                    continue
                is_new = delta.item not in self._calls
                index = self._calls.setdefault(delta.item, len(self._calls))
                if is_new:
                    function = DeltaFunctionCall(name=delta.name, arguments=delta.text)
                    calls[index] = DeltaToolCall(index=index, id=delta.call_id, type="function", function=function)
                elif index in calls:
                    calls[index].function.arguments += delta.text
                elif delta.text:
                    calls[index] = DeltaToolCall(index=index, function=DeltaFunctionCall(arguments=delta.text))
            return list(calls.values())

    return SluiceParser
