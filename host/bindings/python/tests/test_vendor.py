"""A vendor's wheel beside ours: `host parser new`, built and packed (vendor.sh)."""

import importlib.util
import os
import pathlib
import unittest

import sluice_parsers

NAME = os.environ.get("SLUICE_VENDOR")
PROMPT = "<|im_start|>assistant\n"


@unittest.skipUnless(NAME, "needs the wheel that vendor.sh makes, and SLUICE_VENDOR")
class Vendor(unittest.TestCase):
    def test_its_parser_is_found_by_name(self):
        self.assertIn(NAME, sluice_parsers.names())
        parser = sluice_parsers.load(NAME)
        self.assertEqual(parser.name, NAME)
        tools = [{"type": "function", "function": {"name": "f"}}]
        turn = parser.bind().parse('<think>Hm.</think><tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>', tools=tools)
        self.assertEqual([(item.kind, item.text) for item in turn.items], [("reasoning", "Hm."), ("tool_call", '{"a": 1}')])

    def test_its_cases_prove_it_where_it_is_installed(self):
        package = pathlib.Path(importlib.util.find_spec(NAME.replace("-", "_") + "_parser").origin).parent
        report = sluice_parsers.test(NAME, package / "cases")
        self.assertEqual((report["passed"], report["parser"]), (True, NAME))
        self.assertEqual(report["cases"], len(list((package / "cases").glob("*.json"))))
        self.assertGreater(report["cases"], 5)
