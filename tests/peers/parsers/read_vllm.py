"""Turns read by vLLM's parsers."""
import os
import pathlib

from absent import prepare, version_of
from turns import Collected

BARE = ["vllm", "vllm.entrypoints", "vllm.entrypoints.openai"]
ABSENT = "torch triton zmq xgrammar vllm.utils vllm.config vllm.platforms vllm.sampling_params vllm.inputs vllm.multimodal vllm.model_executor vllm.v1 vllm.distributed vllm.engine vllm.lora vllm.renderers vllm.outputs vllm.transformers_utils vllm.entrypoints.chat_utils vllm.logprobs vllm.tokenizers vllm.entrypoints.utils mistral_common"


# The vocabulary of gpt-oss, which ../vocabulary.sh fetches.
os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", str(pathlib.Path(__file__).resolve().parents[1] / "vocabulary"))


class Reader:
    def __init__(self, folder, _):
        self.version = version_of(folder, "vllm")
        prepare(folder, BARE, ABSENT.split())
        import vllm.renderers.chat_utils

        # Ids aren't compared.
        vllm.renderers.chat_utils.make_tool_call_id = lambda *_, **__: "call"
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
        from vllm.parser.parser_manager import ParserManager

        self.Request, self.manager = ChatCompletionRequest, ParserManager

    def model(self, folder):
        from transformers import PreTrainedTokenizerFast

        self.tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))

    def ids(self, text, calls=None):
        if calls != "openai":
            return self.tokenizer.encode(text, add_special_tokens=False)
        from vllm.entrypoints.openai.parser.harmony_utils import get_encoding

        return get_encoding().encode(text, allowed_special="all")

    def parser(self, turn, calls, reasoning):
        kind = self.manager.get_parser(calls, reasoning, enable_auto_tools=True, is_harmony=calls == "openai")
        request = self.Request(model="m", messages=[{"role": "user", "content": "a"}], tools=turn.tools)
        # Clients switch thinking, and with it some parsers, by arguments of the template.
        thinks = turn.thinks()
        parser = kind(self.tokenizer, request.tools, chat_template_kwargs={"thinking": thinks, "enable_thinking": thinks})
        return parser, request

    def whole(self, turn, calls, reasoning):
        parser, request = self.parser(turn, calls, reasoning)
        made = Collected()
        parser.set_prompt_token_ids(self.ids(turn.prompt, calls))
        said, text, found = parser.parse(turn.text, request, enable_auto_tools=True, model_output_token_ids=self.ids(turn.text, calls))
        made.reasoning, made.content = said or "", text or ""
        for index, call in enumerate(found or []):
            made.call(index, call.name, call.arguments)
        return made.made()

    def streamed(self, turn, calls, reasoning):
        parser, request = self.parser(turn, calls, reasoning)
        made, prompt = Collected(), self.ids(turn.prompt, calls)
        for index, piece in enumerate(turn.pieces):
            delta = parser.parse_delta(piece, self.ids(piece, calls), request, prompt, finished=index == len(turn.pieces) - 1)
            if delta is None:
                continue
            made.reasoning += delta.reasoning or ""
            made.content += delta.content or ""
            for call in delta.tool_calls or []:
                made.call(call.index, call.function and call.function.name, call.function and call.function.arguments)
        return made.made()
