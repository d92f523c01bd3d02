"""Turns read by Sluice's parsers where SGLang chooses and calls them: the Python package's plugin, under SGLang's own serving of Chat Completions."""
import asyncio
import json
import logging
import types

from absent import prepare, version_of
from turns import Collected

ABSENT = "torch triton zmq xgrammar aiohttp sglang.srt.utils sglang.srt.server_args sglang.srt.managers sglang.srt.configs sglang.srt.multimodal sglang.srt.runtime_context sglang.srt.observability"


class Settings:
    """SGLang's settings of serving: all are off."""

    def __getattr__(self, name):
        return None


class Engine:
    """What SGLang's serving asks of the process that has the model: it writes the pieces it is given."""

    def __init__(self, tokenizer, names):
        self.tokenizer, self.names, self.choices, self.end = tokenizer, names, [], "stop"
        config = types.SimpleNamespace(model_type="any", architectures=[])
        self.model_config = types.SimpleNamespace(hf_config=config, is_multimodal=False, get_default_sampling_params=dict)
        self.server_args, self.served_model_name, self.model_path = None, "m", "m"

    def config_value(self, name):
        return self.names[name]

    async def generate_request(self, request, raw):
        """The text so far of each choice, piece by piece, as the process of the detokenizer says it."""
        told = [""] * len(self.choices)
        for at in range(max(map(len, self.choices))):
            for index, pieces in enumerate(self.choices):
                if at >= len(pieces):
                    continue
                told[index] += pieces[at]
                ended = {"type": self.end} if at == len(pieces) - 1 and self.end else None
                yield {"index": index, "text": told[index], "meta_info": {"id": "a", "finish_reason": ended, "prompt_tokens": 1, "completion_tokens": at}}


class Reader:
    def __init__(self, folder, _):
        self.version = version_of(folder, "sglang")
        prepare(folder, ["sglang", "sglang.srt", "sglang.srt.entrypoints", "sglang.srt.entrypoints.openai"], ABSENT.split())
        from sglang.srt.entrypoints.openai import serving_chat
        from sglang.srt.plugins import load_plugins

        serving_chat.get_serving = Settings
        serving_chat.build_endpoint_weight_version_metadata = lambda *_: {}
        load_plugins()
        self.chat = serving_chat

    def model(self, folder):
        from transformers import PreTrainedTokenizerFast

        self.tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
        self.tokenizer.chat_template = (folder / "chat_template.jinja").read_text()

    def serving(self, calls, reasoning):
        """SGLang's own serving, with parsers of these names."""
        engine = Engine(self.tokenizer, {"tool_call_parser": calls, "reasoning_parser": reasoning})
        templates = types.SimpleNamespace(chat_template_name=None, python_chat_template=None, reasoning_config=None, force_reasoning=False, jinja_template_content_format="string")
        return self.chat.OpenAIServingChat(engine, templates)

    def asked(self, serving, prompt, tools, **fields):
        """A request with this prompt, as SGLang has it when the model writes."""
        ids = self.tokenizer.encode(prompt, add_special_tokens=False)
        request = self.chat.ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "a"}], tools=tools or None, input_ids=ids, **fields)
        serving._process_messages(request, False)
        return request

    def say(self, serving, request, choices, end="stop"):
        """The choices' streams: what is added up, and why each ended."""
        serving.tokenizer_manager.choices, serving.tokenizer_manager.end = choices, end

        async def chunks():
            return [line async for line in serving._generate_chat_stream(None, request, None)]

        made = [(Collected(), []) for _ in choices]
        for line in asyncio.run(chunks()):
            data = line.removeprefix("data: ").strip()
            if data == "[DONE]":
                continue
            event = json.loads(data)
            if "error" in event:
                raise RuntimeError(event["error"])
            for choice in event["choices"]:
                read, ended = made[choice["index"]]
                delta = choice["delta"]
                read.reasoning += delta.get("reasoning_content") or ""
                read.content += delta.get("content") or ""
                for call in delta.get("tool_calls") or []:
                    read.call(call["index"], call["function"]["name"], call["function"]["arguments"])
                ended += [choice["finish_reason"]] if choice["finish_reason"] else []
        return made

    def answer(self, serving, request, text, end="stop"):
        """A whole answer: what it says, and why it ended."""
        written = {"text": text, "output_ids": [], "meta_info": {"id": "a", "finish_reason": {"type": end}, "prompt_tokens": 1, "completion_tokens": 1, "cached_tokens": 0}}
        choice = serving._build_chat_response(request, [written], 0).choices[0]
        read = Collected()
        read.reasoning, read.content = choice.message.reasoning_content or "", choice.message.content or ""
        for index, call in enumerate(choice.message.tool_calls or []):
            read.call(index, call.function.name, call.function.arguments)
        return read, choice.finish_reason

    def whole(self, turn, calls, reasoning):
        serving = self.serving(calls, reasoning)
        return self.answer(serving, self.asked(serving, turn.prompt, turn.tools), turn.text)[0].made()

    def streamed(self, turn, calls, reasoning):
        serving = self.serving(calls, reasoning)
        [(read, _)] = self.say(serving, self.asked(serving, turn.prompt, turn.tools), [turn.pieces])
        return read.made()
