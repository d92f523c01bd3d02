"""What the plugins for servers share: where the model's turn begins in prompts, and what becomes of a parser's faults."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import Bound, Delta, Item, Stream, Turn

#: What servers' names of our parsers begin with.
PREFIX = "sluice-"
#: How many tokens of a prompt's end are looked at: more than a chat template writes of the model's turn.
TAIL = 64


class Turns:
    """Where the model's turn begins in prompts, and whether they leave its reasoning open."""

    def __init__(self, bound: Bound, tokenizer: Any, arguments: Mapping[str, Any]) -> None:
        self.bound, self._tokenizer, self._arguments = bound, tokenizer, arguments

    def text(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    @functools.cached_property
    def opening(self) -> str:
        """What the chat template writes of the model's turn, with the arguments of this request."""
        asked = [{"role": "user", "content": "."}]
        try:
            bare, opened = (
                self._tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=opens, **self._arguments)
                for opens in (False, True)
            )
        except Exception:  # noqa: BLE001, a template may raise anything, and there may be none
            return ""
        return opened.removeprefix(bare) if opened.startswith(bare) else ""

    def written(self, prompt: Sequence[int] | str) -> str:
        """The end of a prompt, of ids or text, that belongs to the model's turn: what the template writes, else what stands behind the last end of
        a turn."""
        tail = prompt if isinstance(prompt, str) else self.text(prompt[-TAIL:])
        if self.opening and tail.endswith(self.opening):
            return self.opening
        ends = [tail.rfind(stop) + len(stop) for stop in self.bound.parser.stop_markers if stop in tail]
        return tail[max(ends, default=0) :]

    def is_reasoning_over(self, prompt_ids: Sequence[int]) -> bool:
        """Whether text that follows the prompt is no reasoning."""
        return not opens_reasoning(self.bound, self.written(prompt_ids))


def opens_reasoning(bound: Bound, opening: str) -> bool:
    """Whether text behind this beginning of a turn is reasoning."""
    items = bound.parse(".", prompt=opening).items
    return bool(items) and items[0].kind == "reasoning"


def opener(bound: Bound) -> str:
    """The marker behind which text is reasoning, if one alone does that."""
    return next((marker for marker in bound.parser.markers if opens_reasoning(bound, marker)), "")


class Said:
    """The message or the reasoning of a turn, as far as it may be shown: before and behind calls, white space alone isn't."""

    def __init__(self, *kinds: str) -> None:
        self._kinds, self._has_calls = kinds, False
        #: White space that waits for text; `None` while text goes on.
        self._waiting: str | None = ""

    def shown(self, parts: Iterable[Delta | Item], is_end: bool) -> str:
        """What is shown of these parts of the turn, of which those of the `kinds` belong to it."""
        shown = "".join(map(self._of, parts))
        return shown + (self._waiting or "" if is_end and not self._has_calls else "")

    def _of(self, part: Delta | Item) -> str:
        if part.kind == "tool_call":
            self._waiting, self._has_calls = "", True
        if part.kind not in self._kinds or self._waiting is None:
            return part.text if part.kind in self._kinds else ""
        text = self._waiting + part.text
        self._waiting = None if text.strip() else text
        return text if self._waiting is None else ""


def raise_fault(turn: Turn | Stream) -> None:
    """Raises a `RuntimeError` if the parser of a turn that has ended failed inside a call, which nobody may run then."""
    if turn.end == "failed" and turn.fault:
        raise RuntimeError(f"{turn.failure} ({turn.fault})")
