"""Turns read by SGLang's parsers."""
from absent import prepare, version_of
from turns import Collected


class Reader:
    def __init__(self, folder, _):
        self.version = version_of(folder, "sglang")
        prepare(folder, ["sglang", "sglang.srt", "sglang.srt.entrypoints", "sglang.srt.entrypoints.openai"], ["torch", "triton", "zmq", "xgrammar", "sglang.srt.utils", "sglang.srt.server_args"])
        from sglang.srt.entrypoints.openai.protocol import Tool
        from sglang.srt.function_call.function_call_parser import FunctionCallParser
        from sglang.srt.parser.reasoning_parser import ReasoningParser

        self.Tool, self.Calls, self.Reasoning = Tool, FunctionCallParser, ReasoningParser

    def model(self, folder):
        """Needs none of its files."""

    def parsers(self, turn, calls, reasoning):
        tools = [self.Tool(**tool) for tool in turn.tools]
        return (self.Reasoning(reasoning, stream_reasoning=True, force_reasoning=turn.is_opened()) if reasoning else None), (self.Calls(tools, calls) if calls else None)

    def whole(self, turn, calls, reasoning):
        thoughts, parser = self.parsers(turn, calls, reasoning)
        made, text = Collected(), turn.text
        if thoughts:
            said, text = thoughts.parse_non_stream(text)
            made.reasoning = said or ""
        text = text or ""
        if parser and parser.has_tool_call(text):
            text, found = parser.parse_non_stream(text)
            for index, call in enumerate(found):
                made.call(index, call.name, call.parameters)
        made.content = text or ""
        return made.made()

    def streamed(self, turn, calls, reasoning):
        thoughts, parser = self.parsers(turn, calls, reasoning)
        made = Collected()
        for piece in turn.pieces:
            text = piece
            if thoughts:
                said, text = thoughts.parse_stream_chunk(piece)
                made.reasoning += said or ""
            if parser and text:
                text, found = parser.parse_stream_chunk(text)
                for call in found:
                    made.call(call.tool_index, call.name, call.parameters)
            made.content += text or ""
        return made.made()
