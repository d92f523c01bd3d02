"""Python's process goes on, whatever a parser does in it."""

import os
import pathlib
import subprocess
import sys
import unittest

GUESTS = os.environ.get("SLUICE_GUESTS")
#: What each hostile parser is stopped with.
FAULTS = {
    "trap_in_text": "wasm trap: unreachable",
    "load_beyond_memory": "wasm trap: out of bounds memory access",
    "deep_recursion": "wasm trap: stack limit",
    "memory_bomb": "memory limit 16 MiB",
    "loop_in_text": "used more than 5 ms of CPU",
}
PRELUDE = """
import faulthandler, os, pathlib, signal, sys
import sluice_parsers
guests = pathlib.Path(sys.argv[1])
load = lambda name: sluice_parsers.load(guests / f"{name}.wasm").bind()

def fault(bound):
    stream = bound.start()
    deltas = [delta for text in ("Hello ", "world") for delta in stream.push(text)] + stream.finish()
    assert "".join(delta.text for delta in deltas) == "Hello world", deltas
    return stream.fault
"""


@unittest.skipUnless(GUESTS, "needs SLUICE_GUESTS, a folder of hostile parsers")
class Process(unittest.TestCase):
    def said(self, program):
        """What a Python process prints that runs this."""
        ran = subprocess.run([sys.executable, "-c", PRELUDE + program, GUESTS], capture_output=True, text=True, timeout=300)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout.splitlines()

    def test_faults_end_no_process_and_the_text_comes_all_the_same(self):
        for handlers in "", "faulthandler.enable()":
            program = f"names = {list(FAULTS)}\nbounds = [load(name) for name in names]\n{handlers}\nfor bound in bounds: print(fault(bound))"
            for line, (name, reason) in zip(self.said(program), FAULTS.items(), strict=True):
                self.assertTrue(line.endswith(f": {reason}"), f"{name}: {line}")

    def test_forked_and_spawned_processes_stop_parsers_too(self):
        program = """
loop, begun = load("loop_in_text"), load("loop_in_text").start()
def child():
    signal.alarm(60)
    begun.push("Hello")
    print(begun.fault, fault(loop), fault(load("healthy")), sep="|", flush=True)
child_id = os.fork()
if child_id == 0:
    child()
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child_id, 0)[1]))
child()
"""
        child, status, parent = self.said(program)
        for line in child, parent:
            begun, new, healthy = line.split("|")
            self.assertTrue(begun.endswith(FAULTS["loop_in_text"]) and new.endswith(FAULTS["loop_in_text"]), line)
            self.assertEqual(healthy, "None")
        self.assertEqual(status, "0")

    def test_workers_of_both_kinds_parse(self):
        folder = pathlib.Path(__file__).parent
        program = """
import multiprocessing
import worker
if __name__ == "__main__":
    worker.parse()
    for kind in "fork", "spawn":
        with multiprocessing.get_context(kind).Pool(2) as pool:
            print(kind, sorted(set(pool.map(worker.parse, range(8)))))
"""
        program = f"sys.path.insert(0, {str(folder)!r})\n" + program
        self.assertEqual(self.said(program), ["fork ['Yes.']", "spawn ['Yes.']"])

    def test_a_component_of_a_later_contract_says_so(self):
        program = """
try: load("wrong_version")
except sluice_parsers.ParserError as error: print(error)
"""
        [line] = self.said(program)
        self.assertIn("this host serves 0.1", line)
