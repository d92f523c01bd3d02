"""pytest plugin: vLLM's own tests of its parsers, on sources whose other parts are absent. With `SLUICE`, parsers of Sluice stand behind the names of vLLM's.

What stands there is the class that the Python package's plugin makes for vLLM. The tests were written for the pair of parsers that vLLM has beside it,
one for reasoning and one for calls, so two classes here hand on what such a pair is asked.
"""
import importlib
import importlib.util
import itertools
import logging
import os
import pathlib
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import absent
import read_vllm
from models import tokenizer_of

SOURCES = os.environ["VLLM_SOURCES"]
#: Our parser behind each of vLLM's classes of parsers of calls.
CALLS = {
    "vllm.tool_parsers.apertus_tool_parser.ApertusToolParser": "apertus",
    "vllm.tool_parsers.glm47_moe_tool_parser.Glm47MoeModelToolParser": "glm",
    "vllm.tool_parsers.granite4_tool_parser.Granite4ToolParser": "qwen3",
    "vllm.tool_parsers.hermes_tool_parser.Hermes2ProToolParser": "qwen3",
    "vllm.tool_parsers.kimi_k2_tool_parser.KimiK2ToolParser": "kimi-k2",
    "vllm.tool_parsers.minimax_m2_tool_parser.MinimaxM2ToolParser": "minimax-m2",
    "vllm.tool_parsers.qwen3_engine_tool_parser.Qwen3EngineToolParser": "qwen3-coder",
}
#: And of reasoning: by the class, or the name that vLLM's manager has. Qwen3.5, whose format these tests write, has the XML calls of Qwen3-Coder.
REASONING = {"vllm.reasoning.kimi_k2_reasoning_parser.KimiK2ReasoningParser": "kimi-k2", "qwen3": "qwen3-coder"}


def prepare():
    """Makes vLLM's parsers importable, and gives its tests a tokenizer for each model they name."""
    absent.prepare(SOURCES, read_vllm.BARE, read_vllm.ABSENT.split())
    logging.disable(logging.CRITICAL)
    # These tests detokenize step by step with it.
    name = "vllm.tokenizers.detokenizer_utils"
    spec = importlib.util.spec_from_file_location(name, f"{SOURCES}/{name.replace('.', '/')}.py")
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    import transformers
    import vllm.renderers.chat_utils
    import vllm.tokenizers

    count = itertools.count()
    vllm.renderers.chat_utils.make_tool_call_id = lambda *_, **__: f"chatcmpl-tool-{next(count)}"
    transformers.AutoTokenizer = types.SimpleNamespace(from_pretrained=lambda model, *_, **__: tokenizer_of(model))
    vllm.tokenizers.get_tokenizer = lambda tokenizer_name, *_, **__: tokenizer_of(tokenizer_name)
    vllm.tokenizers.TokenizerLike = object


class Added:
    """A test's own tokenizer, all of whose tokens are added ones."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer

    def get_added_vocab(self):
        return self._tokenizer.get_vocab()

    def decode(self, ids, skip_special_tokens=False):
        return self._tokenizer.decode(ids)


def asked(parser_class, tokenizer, tools, ids, options=None, **named):
    """Our parser of one answer, which begins with these ids: without ids, unlike in service, markers are found in the text. Tests ask for calls that
    their requests have no tools for, which are `tool_choice` `none` to vLLM.
    """
    parser = parser_class(tokenizer if hasattr(tokenizer, "get_added_vocab") else Added(tokenizer), tools, **named)
    if not ids:
        parser._bound = parser._bound.parser.bind()
    start = parser._started
    parser._started = lambda request: (values := start(request)) | {"tools": values["tools"] or "any", "calls": "any", "options": options}
    return parser


def request_of(request):
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    return request or ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "a"}])


def calls_class(name):
    """A class as vLLM's parsers of calls are."""
    from sluice_parsers.vllm_plugin import parser_class
    from vllm.entrypoints.generate.base.protocol import ExtractedToolCallInformation, FunctionCall, ToolCall
    from vllm.tool_parsers.abstract_tool_parser import ToolParser

    ours = parser_class(name, reads_calls=True, shows_reasoning=False)

    class Calls(ToolParser):
        def __init__(self, tokenizer, tools=None, **named):
            super().__init__(tokenizer, tools)
            self._stream = None

        def _begun(self, ids=()):
            parser = asked(ours, self.model_tokenizer, self.tools, ids)
            # Nothing is thought where nothing reads it.
            parser._prompt = ""
            return parser

        def adjust_request(self, request):
            return self._begun().adjust_request(request) if request.tools and request.tool_choice != "none" else request

        def extract_tool_calls(self, model_output, request):
            _, content, made = self._begun().parse(model_output, request_of(request), True)
            calls = [ToolCall(id=call.id, function=FunctionCall(name=call.name, arguments=call.arguments)) for call in made or []]
            return ExtractedToolCallInformation(tools_called=bool(calls), content=content, tool_calls=calls)

        def extract_tool_calls_streaming(self, previous_text, current_text, delta_text, previous_token_ids, current_token_ids, delta_token_ids, request):
            if self._stream is None or (not previous_text and current_text == delta_text):
                self._stream = self._begun(delta_token_ids)
            return self._stream.parse_delta(delta_text, list(delta_token_ids), request_of(request), finished=False)

    return Calls


def reasoning_class(name):
    """A class as vLLM's parsers of reasoning are: theirs hands on the text behind the reasoning to a parser of calls, ours has read the calls in it."""
    from sluice_parsers.vllm_plugin import parser_class, reasoner_class
    from vllm.entrypoints.generate.base.protocol import DeltaMessage

    ours = parser_class(name, reads_calls=True, shows_reasoning=True)

    class Reasoning(reasoner_class(name)):
        def __init__(self, tokenizer, *arguments, **named):
            super().__init__(tokenizer, *arguments, **named)
            self._named, self._stream = named, None

        def _begun(self, ids=()):
            # These tests' streams don't end, where a call inside reasoning counts, and theirs has it end the reasoning.
            return asked(ours, self.model_tokenizer, None, ids, {"calls-in-reasoning": "at-once"}, **self._named)

        def extract_reasoning(self, model_output, request):
            reasoning, content, calls = self._begun().parse(model_output, request_of(request), True)
            if not calls:
                return reasoning, content
            return reasoning, model_output[model_output.index(reasoning) + len(reasoning) :] if reasoning else model_output

        def extract_reasoning_streaming(self, previous_text, current_text, delta_text, previous_token_ids, current_token_ids, delta_token_ids):
            if self._stream is None:
                self._stream, self._reasoning, self._hands_on = self._begun(delta_token_ids), "", False
            if self._hands_on:
                return DeltaMessage(content=delta_text)
            delta = self._stream.parse_delta(delta_text, list(delta_token_ids), request_of(None), finished=False)
            if delta is not None:
                self._reasoning += delta.reasoning or ""
                if delta.tool_calls:
                    end = current_text.index(self._reasoning) + len(self._reasoning)
                    delta = DeltaMessage(reasoning=delta.reasoning, content=current_text[end:])
                    self._hands_on = True
                elif delta.content is None:
                    delta = DeltaMessage(reasoning=delta.reasoning)
                elif delta.reasoning is None:
                    delta = DeltaMessage(content=delta.content)
            return delta

    return Reasoning


def replace():
    """Puts ours behind vLLM's names, before tests import them."""
    from vllm.reasoning import ReasoningParserManager

    def put(path, made):
        module, _, name = path.rpartition(".")
        setattr(importlib.import_module(module), name, made)

    for path, name in CALLS.items():
        put(path, calls_class(name))
    for path, name in REASONING.items():
        if "." in path:
            put(path, reasoning_class(name))
        else:
            ReasoningParserManager.reasoning_parsers[path] = reasoning_class(name)


prepare()
if os.environ.get("SLUICE"):
    replace()
