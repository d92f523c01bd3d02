"""Runs both engines' own benchmarks directly one after the other, and prints the median of each and the median of the rounds' ratios: on a
machine whose memory is shared, the speed of both changes from moment to moment.

    python measure.py HOST LLAMA_BIN DIRECTORY

DIRECTORY has GGUF files. If it has a config.json, too, our engine makes and quantises weights of that shape; otherwise both run the same files. The
environment sets THREADS, ROUNDS, DEPTH, TOKENS (per sequence) and KINDS (`bf16,8 bits` or names of files); rows are appended to the file CSV.
"""
import csv
import io
import os
import pathlib
import subprocess
import sys
from statistics import median

HOST, LLAMA, DIRECTORY = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
THREADS = os.environ.get("THREADS", str(os.cpu_count()))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
TOKENS = os.environ.get("TOKENS", "64")
DEPTH = os.environ.get("DEPTH", "16384")
EIGHT, FOUR = ["--quantize", "q8"], ["--quantize", "q4"]
# Numbers of concurrent sequences.
WIDE = "4,16"
SAME_FILES = not (DIRECTORY / "config.json").exists()
# Minimum of our figure, as a multiple of llama.cpp's.
BARS = {"pp128": 1.2, "pp512": 1.2, "x1": 1.0, "x4": 1.5 if SAME_FILES else 1.0, "x16": 2.0, f"@ d{DEPTH}": 1.0}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr[-2000:]}")
    return done.stdout


def ours(switches, tests):
    """Returns tokens per second and the share of the memory's bandwidth, by test."""
    out = DIRECTORY / "ours.csv"
    run([HOST, "bench", "model", "--threads", THREADS, "--kv-cache", "4096", "--repetitions", "1", "--csv", out, *switches, *tests])
    rows = list(csv.DictReader(out.open()))
    return {row["test"]: (float(row["best_tokens_per_second"]), float(row["share_of_read_bandwidth"])) for row in rows}


def llama_bench(model, tests):
    rows = csv.DictReader(io.StringIO(run([LLAMA / "llama-bench", "-m", model, "-t", THREADS, "-r", "1", "-o", "csv", *tests])))
    found = {}
    for row in rows:
        name = f"pp{row['n_prompt']}" if row["n_prompt"] != "0" else f"tg{row['n_gen']} x1"
        depth = int(row.get("n_depth") or 0)
        found[name + (f" @ d{depth}" if depth else "")] = float(row["avg_ts"])
    return found


def llama_parallel(model):
    text = run([LLAMA / "llama-batched-bench", "-m", model, "-t", THREADS, "-c", "4096", "-npp", "32", "-ntg", TOKENS, "-npl", WIDE])
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return {f"tg{TOKENS} x{row[2]}": float(row[7]) for row in rows if row[0].isdigit()}


def keep(all, found):
    for test, figure in found.items():
        all.setdefault(test, []).append(figure)


def kinds():
    """Returns (name, GGUF file, our switches) of each kind of weights; llama.cpp doesn't quantise MXFP4 any further."""
    if SAME_FILES:
        return [(file.stem, file.stem, ["--model", file]) for file in sorted(DIRECTORY.glob("*.gguf"))]
    made = ["--model", DIRECTORY, "--load-format", "dummy"]
    if (DIRECTORY / "Q8_0.gguf").exists():
        return [("bf16", "stored", made), ("8 bits", "Q8_0", made + EIGHT), ("4 bits", "Q4_K_M", made + FOUR)]
    return [("stored", "stored", made), ("8 bits", "stored", made + EIGHT)]


def pairs(model):
    """Yields the tests that are measured directly one after the other: our arguments, and the function that runs the same in llama.cpp."""
    yield ["-p", "128,512", "-n", "0"], lambda: llama_bench(model, ["-p", "128,512", "-n", "0"])
    yield ["-p", "0", "-n", TOKENS, "--parallel", "1"], lambda: llama_bench(model, ["-p", "0", "-n", TOKENS])
    yield ["-p", "0", "-n", TOKENS, "--parallel", WIDE], lambda: llama_parallel(model)


def measure(file, switches):
    model = DIRECTORY / f"{file}.gguf"
    mine, theirs = {}, {}
    for number in range(ROUNDS):
        for tests, llama in pairs(model):
            engines = [lambda: keep(mine, ours(switches, tests)), lambda: keep(theirs, llama())]
            for engine in engines if number % 2 == 0 else reversed(engines):
                engine()
    if DEPTH != "0":
        keep(mine, ours(switches, ["-p", "0", "-n", "16", "--parallel", "0", "-d", DEPTH]))
        # Without llama.cpp's flash attention, which is slower on CPUs.
        keep(theirs, llama_bench(model, ["-p", "0", "-n", "16", "-d", DEPTH, "-fa", "0"]))
    return mine, theirs


def bar(test):
    return next(bar for ending, bar in BARS.items() if test.endswith(ending))


def write_rows(name, mine, theirs):
    """Appends a row for each round to the file CSV."""
    with open(os.environ["CSV"], "a", newline="") as file:
        for test, runs in mine.items():
            for (rate, share), other in zip(runs, theirs[test]):
                csv.writer(file).writerow([DIRECTORY.name, name, THREADS, test, f"{rate:.1f}", f"{other:.1f}", f"{share:.2f}"])


def main():
    print(f"{DIRECTORY.name}, {THREADS} threads, medians of {ROUNDS} rounds, tokens/s", flush=True)
    print(f"{'':8}{'test':20}{'ours':>9}{'llama.cpp':>11}{'ratio':>8}{'bar':>7}{'of reads':>10}")
    wanted = os.environ.get("KINDS")
    for name, file, switches in kinds():
        if wanted and name not in wanted.split(","):
            continue
        mine, theirs = measure(file, switches)
        if "CSV" in os.environ:
            write_rows(name, mine, theirs)
        for test, runs in mine.items():
            rate, other = median(rate for rate, _ in runs), median(theirs[test])
            ratio = median(rate / other for (rate, _), other in zip(runs, theirs[test]))
            missed, share = "" if ratio >= bar(test) else "  missed", median(share for _, share in runs)
            print(f"{name:8}{test:20}{rate:9.1f}{other:11.1f}{ratio:8.2f}{bar(test):7.1f}{share:10.0%}{missed}", flush=True)


main()
