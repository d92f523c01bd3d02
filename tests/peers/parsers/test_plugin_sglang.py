"""Sluice's parsers in SGLang: found by its own loader of plugins, and asked by its own serving. `test_plugin_sglang.py SGLANG`, the folder of its sources."""
import gc
import importlib.util
import json
import os
import pathlib
import sys
import unittest
import unittest.mock

import read_sluice_sglang

ROOT = pathlib.Path(__file__).resolve().parents[3]
NAME = "sluice-qwen3"
OPENING = "<|im_start|>assistant\n<think>\n"
ASKED = "<|im_start|>user\nHi.<|im_end|>\n"
CALL = '<tool_call>\n{"name": "f", "arguments": {"s": "x"}}\n</tool_call>'
OUTPUT = "Hm.\n</think>\n\nI look.\n" + CALL
# White space is the model's, as with SGLang's own parsers.
READ = ("Hm.\n", "\n\nI look.\n", [("f", {"s": "x"})])
TOOLS = [{"type": "function", "function": {"name": "f", "description": "", "parameters": {"type": "object", "properties": {"s": {"type": "string"}}}}}]


def cut(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reader = read_sluice_sglang.Reader(FOLDER, None)
        cls.reader.model(ROOT / "host/models/qwen3-tiny")

    def setUp(self):
        self.serving = self.reader.serving(NAME, NAME)

    def asked(self, tools=TOOLS, prompt=ASKED + OPENING, **fields):
        return self.reader.asked(self.serving, prompt, tools, **fields)

    def said(self, text, sizes=(1, 5, 16, 1000), end="stop", **fields):
        """What is made of a text whole and in pieces of these sizes, which is the same, and why the answer ended."""
        read, ended = self.reader.answer(self.serving, self.asked(**fields), text, end)
        whole = read.made()
        for size in sizes:
            [(streamed, ends)] = self.reader.say(self.serving, self.asked(**fields), [cut(text, size)], end)
            self.assertEqual((streamed.made(), ends), (whole, [ended]), size)
        return whole, ended

    def test_one_parser_reads_reasoning_and_calls(self):
        self.assertEqual(self.said(OUTPUT), (READ, "tool_calls"))
        self.assertEqual(self.said("Hm.\n</think>\n\nYes."), (("Hm.\n", "\n\nYes.", []), "stop"))
        self.assertEqual(self.said("Hm.", end="length"), (("Hm.", "", []), "length"))

    def test_white_space_alone_is_no_message_beside_calls(self):
        for said in "", "\n\n":
            self.assertEqual(self.said("Hm.\n</think>" + said + CALL + "\n"), (("Hm.\n", "", READ[2]), "tool_calls"), said)

    def test_the_prompt_says_whether_the_model_thinks(self):
        closed = OPENING + "\n</think>\n\n"
        self.assertEqual(self.said("I look.\n" + CALL, prompt=ASKED + closed), (("", "I look.\n", [("f", {"s": "x"})]), "tool_calls"))
        # Also where the model goes on with its last message.
        self.assertEqual(self.said(" no.", prompt=ASKED + closed + "Yes and")[0][:2], ("", " no."))

    def test_several_answers_of_a_request_are_read_at_the_same_time(self):
        made = self.reader.say(self.serving, self.asked(n=4), [cut(OUTPUT, size) for size in (1, 2, 7, 16)])
        self.assertEqual([(read.made(), ends) for read, ends in made], [(READ, ["tool_calls"])] * 4)

    def test_what_was_not_chosen_stays_text(self):
        self.serving = self.reader.serving(None, NAME)
        reasoning, content, calls = self.said(OUTPUT)[0]
        self.assertEqual((reasoning, calls), ("Hm.\n", []))
        self.assertIn(CALL, content)
        self.serving = self.reader.serving(NAME, None)
        reasoning, content, calls = self.said(OUTPUT)[0]
        self.assertEqual((reasoning, calls), ("", READ[2]))
        self.assertTrue(content.startswith("Hm."))

    def test_clients_choose_what_is_read(self):
        self.serving = self.reader.serving(NAME, NAME)
        for fields in ({"tools": None}, {"tool_choice": "none"}):
            reasoning, content, calls = self.said(OUTPUT, **fields)[0]
            self.assertEqual((reasoning, content, calls), ("Hm.\n", "\n\nI look.\n" + CALL, []), fields)
        reasoning, content, calls = self.said(OUTPUT, separate_reasoning=False)[0]
        self.assertEqual((reasoning, content, calls), ("", "Hm.\n\n\nI look.\n", READ[2]))
        [(read, _)] = self.reader.say(self.serving, self.asked(stream_reasoning=False), [cut(OUTPUT, 1)])
        self.assertEqual(read.made(), READ)

    def test_forced_calls_are_sglangs_own(self):
        forced = "Hm.\n</think>\n\n" + json.dumps([{"name": "f", "parameters": {"s": "x"}}])
        for choice in "required", {"type": "function", "function": {"name": "f"}}:
            # In pieces smaller than a call, since 0.5.22 loses arguments that come with their name.
            self.assertEqual(self.said(forced, sizes=(1, 5, 16), tool_choice=choice), (("Hm.\n", "", READ[2]), "tool_calls"), choice)

    def test_markers_are_kept_in_the_text(self):
        self.assertFalse(self.asked(tools=None).skip_special_tokens)
        self.assertTrue(self.asked(tools=None, separate_reasoning=False).skip_special_tokens)
        self.serving = self.reader.serving("qwen25", "qwen3")
        self.assertTrue(self.asked(tools=None).skip_special_tokens)

    def test_a_call_that_is_cut_off_is_no_whole_one(self):
        cut_off = OUTPUT[: OUTPUT.index('x"}')]
        [(read, ends)] = self.reader.say(self.serving, self.asked(), [cut(cut_off, 3)])
        self.assertEqual(read.calls, {0: ["f", '{"s": "']})
        # Before 0.5.23 SGLang's parsers couldn't say it.
        self.assertEqual(ends, ["tool_calls" if self.reader.version < "0.5.23" else "stop"])

    def test_dropped_answers_leave_nothing(self):
        asked = [self.asked() for _ in range(50)]
        for request in asked:
            self.reader.say(self.serving, request, [cut(OUTPUT[:60], 7)], end=None)
        from sluice_parsers import sglang_plugin

        noted = len(sglang_plugin._noted._openings)
        del asked, request
        gc.collect()
        self.assertGreaterEqual(noted - len(sglang_plugin._noted._openings), 50)
        self.assertEqual(self.said(OUTPUT), (READ, "tool_calls"))

    @unittest.skipUnless(os.environ.get("SLUICE_GUESTS"), "needs SLUICE_GUESTS, a folder of hostile parsers")
    def test_nobody_runs_a_call_in_which_the_parser_failed(self):
        import sluice_parsers
        from sluice_parsers import sglang_plugin

        guest = sluice_parsers.load(f"{os.environ['SLUICE_GUESTS']}/trap_in_call.wasm").bind()
        with unittest.mock.patch.object(sglang_plugin, "_bound", lambda name: guest):
            with self.assertRaisesRegex(RuntimeError, "failed inside a call of"):
                self.reader.say(self.serving, self.asked(), [["f", " more", " end"]])
        # The next answer is as ever.
        self.assertEqual(self.said(OUTPUT), (READ, "tool_calls"))

    def test_two_parsers_are_refused_and_sglangs_own_are_made_as_before(self):
        for calls, reasoning in ((NAME, "qwen3"), ("qwen25", NAME), (NAME, "sluice-glm")):
            with self.assertRaisesRegex(ValueError, "cannot be combined"):
                self.reader.serving(calls, reasoning)
        self.serving = self.reader.serving("qwen25", "qwen3")
        self.assertEqual(self.said(OUTPUT, sizes=())[0], ("Hm.\n", "I look.", READ[2]))

    def test_sglang_is_told_where_reasoning_ends(self):
        from sglang.srt.parser.reasoning_parser import ReasoningParser

        detector = ReasoningParser(model_type=NAME, tokenizer=self.reader.tokenizer).detector
        self.assertEqual((detector.think_start_token, detector.think_end_token), ("<think>", "</think>"))
        self.assertEqual(detector.get_think_end_token_ids(self.reader.tokenizer), self.reader.tokenizer.encode("</think>", add_special_tokens=False))

    @unittest.skipUnless(importlib.util.find_spec("my_model_parser"), "needs the wheel that host/bindings/python/vendor.sh makes")
    def test_a_vendors_parser_is_chosen_by_its_name(self):
        self.serving = self.reader.serving("sluice-my-model", "sluice-my-model")
        text = "<think>Hm.</think>I look.\n" + CALL
        self.assertEqual(self.said(text, prompt=ASKED), (("Hm.", "I look.\n", READ[2]), "tool_calls"))

    def test_every_name_is_there_in_both_lists(self):
        import sluice_parsers
        from sglang.srt.function_call.function_call_parser import FunctionCallParser
        from sglang.srt.parser.reasoning_parser import ReasoningParser

        names = {f"sluice-{name}" for name in sluice_parsers.names()}
        self.assertLessEqual(names, set(FunctionCallParser.ToolCallParserEnum))
        self.assertLessEqual(names, set(ReasoningParser.DetectorMap))


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
