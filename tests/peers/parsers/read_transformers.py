"""Turns read by transformers' parser of responses, as `transformers serve` runs it.

Its templates are those that transformers or TRL publish: transformers' own by the type of the model, TRL's by the chat template.
"""
import importlib.metadata
import json

from absent import prepare, version_of
from turns import Collected


class Reader:
    def __init__(self, folder, _):
        from transformers.cli.serving import utils

        # TRL's templates, without what its package imports.
        prepare(folder, ["trl"], ["trl.data_utils"])
        import trl.chat_template_utils

        self.version = importlib.metadata.version("transformers") + ", TRL " + version_of(folder, "trl")
        self.add_template, self.serving = trl.chat_template_utils.add_response_schema, utils

    def model(self, folder):
        from transformers import PreTrainedTokenizerFast

        self.tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
        self.tokenizer.chat_template = (folder / "chat_template.jinja").read_bytes().decode()

    def template(self, publisher, model_type):
        if publisher == "trl":
            return self.add_template(self.tokenizer).response_template
        return next(template for types, template in self.serving._RESPONSE_TEMPLATE_FALLBACKS.items() if model_type in types)

    def whole(self, turn, publisher, model_type):
        parsed = self.tokenizer.parse_response(turn.text + turn.end, self.template(publisher, model_type), prefix=turn.prompt, tools=turn.tools)
        made = Collected()
        made.reasoning = next((parsed[field] for field in self.serving._REASONING_FIELDS if parsed.get(field) is not None), "")
        made.content = parsed.get("content", "")
        for index, value in enumerate(parsed.get("tool_calls") or []):
            call = self.serving._normalize_tool_call(value)
            made.call(index, call.name, call.arguments)
        return made.made()

    def streamed(self, turn, publisher, model_type):
        parser = self.tokenizer.get_response_parser(self.template(publisher, model_type), prefix=turn.prompt, tools=turn.tools)
        events = [*parser.initial_events]
        for piece in [*turn.pieces, turn.end]:
            events += parser.feed(piece)
        events += parser.finalize()[1]
        made = Collected()
        for chunk in self.serving.response_events_to_chunks(events):
            if isinstance(chunk, self.serving.ToolCall):
                made.call(len(made.calls), chunk.name, chunk.arguments)
            elif isinstance(chunk, self.serving.ReasoningText):
                made.reasoning += chunk
            else:
                made.content += chunk
        return made.made()
