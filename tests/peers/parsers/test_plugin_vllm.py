"""Sluice's parsers in vLLM: chosen by its manager, fed as its serving layer feeds them. `test_plugin_vllm.py VLLM`, the folder of its sources."""
import gc
import importlib.util
import pathlib
import sys
import unittest
import weakref

import read_vllm

ROOT = pathlib.Path(__file__).resolve().parents[3]
NAME = "sluice-qwen3"
OPENING = "<|im_start|>assistant\n<think>\n"
#: The user wrote a marker, which is none.
ASKED = "<|im_start|>user\nWhat is </think>?<|im_end|>\n"
CALL = '\n{"name": "f", "arguments": {"s": "x"}}\n'
TOOLS = [{"type": "function", "function": {"name": "f", "description": "", "parameters": {"type": "object", "properties": {"s": {"type": "string"}}}}}]


class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reader = read_vllm.Reader(FOLDER, "vllm")
        from sluice_parsers import vllm_plugin

        vllm_plugin.register()
        vllm_plugin.register()
        cls.reader.model(ROOT / "host/models/qwen3-tiny")
        cls.tokenizer = cls.reader.tokenizer
        added = cls.tokenizer.get_added_vocab()
        spelt = [id for letter in "<tool_call>" for id in cls.reader.ids(letter)]
        cls.prompt = cls.reader.ids(ASKED + OPENING)
        parts = cls.reader.ids("Hm."), [added["</think>"]], cls.reader.ids("\n\nSay "), spelt, cls.reader.ids(" then.\n")
        call = [added["<tool_call>"]], cls.reader.ids(CALL), [added["</tool_call>"]]
        cls.output = [id for part in (*parts, *call) for id in part]
        cls.end = added["<|im_end|>"]

    def request(self, **fields):
        return self.reader.Request(model="m", messages=[{"role": "user", "content": "a"}], tools=TOOLS, **fields)

    def parser(self, tool=NAME, reasoning=NAME):
        parser = self.reader.manager.get_parser(tool, reasoning, enable_auto_tools=True, tokenizer=self.tokenizer)
        parser = parser(self.tokenizer, self.request().tools)
        parser.set_prompt_token_ids(self.prompt)
        return parser

    def whole(self, parser, **fields):
        text = self.tokenizer.decode(self.output, skip_special_tokens=False)
        reasoning, content, calls = parser.parse(text, self.request(**fields), True, self.output)
        return reasoning, content, [(call.name, call.arguments) for call in calls or []]

    def streamed(self, parser, size):
        reasoning, content, calls, ids = "", "", {}, []
        for at in range(0, len(self.output), size):
            step, is_last = self.output[at : at + size], at + size >= len(self.output)
            text = self.tokenizer.decode(step, skip_special_tokens=False)
            # What ends the turn has an id and no text.
            delta = parser.parse_delta(text, step + [self.end] * is_last, self.request(), self.prompt, finished=is_last)
            if delta is None:
                continue
            reasoning, content = reasoning + (delta.reasoning or ""), content + (delta.content or "")
            for call in delta.tool_calls:
                made = calls.setdefault(call.index, ["", ""])
                made[0] += call.function.name or ""
                made[1] += call.function.arguments or ""
                ids += [call.id] if call.id else []
        self.assertEqual(len(ids), len(calls))
        return reasoning, content, [tuple(call) for call in calls.values()]

    def test_one_parser_reads_reasoning_and_calls_and_no_look_alike(self):
        # White space is the model's, as with vLLM's own parser.
        read = ("Hm.", "\n\nSay <tool_call> then.\n", [("f", '{"s": "x"}')])
        self.assertEqual(self.whole(self.parser()), read)
        for size in (1, 3, 16, 1000):
            # Several answers of one request at the same time.
            parsers = [self.parser() for _ in range(4)]
            self.assertEqual([self.streamed(parser, size) for parser in parsers], [read] * 4, size)

    def test_requests_that_are_given_up_leave_nothing(self):
        given_up = []
        for at in range(50):
            parser = self.parser()
            for id in self.output[: at % len(self.output)]:
                parser.parse_delta(self.tokenizer.decode([id], skip_special_tokens=False), [id], self.request(), self.prompt, finished=False)
            given_up.append(weakref.ref(parser))
        del parser
        gc.collect()
        self.assertEqual([parser for parser in given_up if parser() is not None], [])
        self.assertEqual(self.streamed(self.parser(), 3)[0], "Hm.")

    def test_what_was_not_chosen_stays_text(self):
        reasoning, content, calls = self.whole(self.parser(tool=None))
        self.assertEqual((reasoning, calls), ("Hm.", []))
        self.assertIn(CALL, content)
        reasoning, content, calls = self.whole(self.parser(reasoning=None))
        self.assertEqual((reasoning, len(calls)), (None, 1))
        self.assertTrue(content.startswith("Hm."))
        self.assertEqual(self.whole(self.parser(), tool_choice="none")[2], [])

    def test_white_space_alone_is_no_message_beside_calls(self):
        call = "<tool_call>" + CALL + "</tool_call>"
        for said, shown in (("", ""), ("\n\n", ""), ("\n\n" + call + "\n", ""), ("\n\nYes.\n", "\n\nYes.\n"), ("\n \n", "")):
            text = "Hm.\n</think>" + said + (call if call not in said else "")
            self.output = self.reader.ids(text)
            read = ("Hm.\n", shown, [("f", '{"s": "x"}')])
            for size in (1, 3, 1000):
                self.assertEqual(self.streamed(self.parser(), size), read, (said, size))
            reasoning, content, calls = self.whole(self.parser())
            self.assertEqual((reasoning, content or "", calls), read, said)
        self.output = self.reader.ids("Hm.\n</think>\n\n")
        self.assertEqual([self.streamed(self.parser(), 1)[1], self.whole(self.parser())[1]], ["\n\n", "\n\n"])

    def test_ids_of_calls_are_those_that_kimis_template_wants(self):
        call = '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"s": "x"}<|tool_call_end|>'
        text = f"<|tool_calls_section_begin|>{call}<|tool_calls_section_end|>"
        called = {"role": "assistant", "tool_calls": [{"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
        for messages, id in (([], "functions.f:0"), ([called, called], "functions.f:2")):
            request = self.reader.Request(model="m", messages=[*messages, {"role": "user", "content": "a"}], tools=TOOLS)
            [made] = self.parser("sluice-kimi-k2", "sluice-kimi-k2").parse(text, request, True)[2]
            delta = self.parser("sluice-kimi-k2", "sluice-kimi-k2").parse_delta(text, [], request, finished=True)
            self.assertEqual((made.id, delta.tool_calls[0].id), (id, id))

    def test_the_engine_is_told_where_reasoning_ends(self):
        from vllm.reasoning import ReasoningParserManager

        reasoner = ReasoningParserManager.get_reasoning_parser(NAME)(self.tokenizer)
        over = self.reader.ids(ASKED + OPENING + "\n</think>\n\n")
        for asked in reasoner, self.parser():
            self.assertEqual((asked.is_reasoning_end(self.prompt), asked.is_reasoning_end(over)), (False, True))
        step = self.reader.ids("\n\n")
        self.assertTrue(reasoner.is_reasoning_end_streaming(self.prompt + self.reader.ids("Hm.</think>") + step, step))
        self.assertFalse(reasoner.is_reasoning_end_streaming(self.prompt + self.reader.ids("Hm.") + step, step))
        self.assertEqual(self.parser().count_reasoning_tokens(self.output), len(self.reader.ids("Hm.")))

    @unittest.skipUnless(importlib.util.find_spec("my_model_parser"), "needs the wheel that host/bindings/python/vendor.sh makes")
    def test_a_vendors_parser_is_chosen_by_its_name(self):
        text = "<think>Hm.</think>I look.\n<tool_call>" + CALL + "</tool_call>"
        name = "sluice-my-model"
        parser = self.reader.manager.get_parser(name, name, enable_auto_tools=True, tokenizer=self.tokenizer)(self.tokenizer, self.request().tools)
        parser.set_prompt_token_ids(self.reader.ids(ASKED))
        reasoning, content, calls = parser.parse(text, self.request(), True, self.reader.ids(text))
        self.assertEqual((reasoning, content, [(call.name, call.arguments) for call in calls]), ("Hm.", "I look.\n", [("f", '{"s": "x"}')]))

    def test_vllm_sees_by_the_class_what_is_read(self):
        for tool, reasoning in ((NAME, NAME), (NAME, None), (None, NAME)):
            kind = self.reader.manager.get_parser(tool, reasoning, enable_auto_tools=True, tokenizer=self.tokenizer)
            seen = kind.tool_parser_cls is not None, kind.reasoning_parser_cls is not None
            self.assertEqual(seen, (bool(tool), bool(reasoning)))
            self.assertIsNotNone(kind(self.tokenizer, self.request().tools))
        reasoner = kind.reasoning_parser_cls(self.tokenizer)
        self.assertEqual((reasoner.reasoning_start_str, reasoner.reasoning_end_str.strip()), ("<think>", "</think>"))

    def test_a_call_of_a_step_is_one_delta_and_its_white_space_no_reasoning(self):
        call = "<tool_call>\n<function=f>\n<parameter=s>\nx\n</parameter>\n</function>\n</tool_call>"
        text = "Hm.\n" + call
        parser = self.parser("sluice-qwen3-coder", "sluice-qwen3-coder")
        delta = parser.parse_delta(text, self.reader.ids(text), self.request(), self.prompt, finished=True)
        [made] = delta.tool_calls
        self.assertEqual((delta.reasoning, delta.content, made.function.name, made.function.arguments), ("Hm.\n", None, "f", '{"s": "x"}'))

    def test_two_parsers_are_refused_and_vllms_own_are_made_as_before(self):
        for tool, reasoning in ((NAME, "qwen3"), ("hermes", NAME), (NAME, "sluice-glm")):
            with self.assertRaisesRegex(TypeError, "cannot be combined"):
                self.parser(tool, reasoning)
        theirs = self.reader.manager.get_parser("hermes", "qwen3", enable_auto_tools=True)
        self.assertEqual(theirs.tool_parser_cls.__module__, "vllm.tool_parsers.hermes_tool_parser")


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
