"""Scores of one model by the harness's own engine (`hf`: transformers, f32) and by our server over HTTP, side by side.

    python bigbench.py DIRECTORY [MODEL.gguf]

DIRECTORY has a model in f32. Our server computes it in f32, too, so that every score must be equal to the third digit (exit status 1 if not). Scores of
the GGUF file that it was made of follow, as the server computes such files. The tasks are parts of BIG-bench, from its package.
"""
import json
import math
import os
import pathlib
import sys
import tarfile

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")

import lm_eval
import transformers
from lm_eval.tasks import TaskManager
from server import Server

HERE = pathlib.Path(__file__).parent
TASKS = ["bigbench_sports", "bigbench_fables", "bigbench_tense"]
ITEMS, FABLES, SENTENCES = 200, 8, 24
# Longest input; one of the texts is longer, so that it is read in windows.
LENGTH = 512


def examples(archive, task):
    with tarfile.open(archive) as files:
        return json.load(files.extractfile(f"bigbench-1.0.0/bigbench/benchmark_tasks/{task}/task.json"))["examples"]


def write(name, rows):
    pathlib.Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_tasks(archive):
    questions = examples(archive, "sports_understanding")[:ITEMS]
    write("sports.jsonl", [
        {"question": each["input"].strip(), "choices": list(each["target_scores"]), "answer": list(each["target_scores"].values()).index(1)}
        for each in questions
    ])
    fables = [each["input"].removesuffix(" What is the moral of this story?") for each in examples(archive, "understanding_fables")]
    write("fables.jsonl", [{"text": text} for text in [*fables[:FABLES], "\n\n".join(fables[FABLES:FABLES + 4])]])
    write("tense.jsonl", [{"question": each["input"].strip(), "answer": each["target"]} for each in examples(archive, "tense")[:SENTENCES]])


def scores(engine, **arguments):
    results = lm_eval.simple_evaluate(
        model=engine, model_args=arguments, tasks=TASKS, task_manager=TaskManager(include_path=str(HERE / "bigbench")), bootstrap_iters=0,
    )
    return {
        f"{task} {metric.partition(',')[0]}": value
        for task in TASKS for metric, value in results["results"][task].items()
        if isinstance(value, float)
    }


def served(model, directory, *switches):
    """The scores through `/v1/completions`, with token ids as prompts. Of its longest input the harness gives one token to the answer."""
    server = Server("--model", str(model), "--device", "cpu", "--parser", "none", *switches)
    try:
        return scores(
            "local-completions", model=pathlib.Path(model).name.removesuffix(".gguf"), base_url=server.address + "/v1/completions",
            tokenizer=str(directory), num_concurrent=4, max_length=LENGTH + 1, max_retries=1,
        )
    finally:
        server.stop()


def by_transformers(directory):
    return scores("hf", pretrained=directory, dtype="float32", device="cpu", batch_size=8, max_length=LENGTH)


def main(directory, gguf=None):
    expected = by_transformers(directory)
    columns = [expected, served(directory, directory, "--dtype", "f32", "--kv-cache-dtype", "f32")]
    if gguf:
        columns.append(served(gguf, directory))
    print(f"lm_eval {lm_eval.__version__}, transformers {transformers.__version__}; the third column is the GGUF file's")
    wrong = 0
    for name in expected:
        values = [column[name] for column in columns]
        differs = not math.isclose(values[0], values[1], rel_tol=5e-4, abs_tol=5e-4)
        wrong += differs
        print(f"{name:<40}", *(f"{value:10.4f}" for value in values), "differs" if differs else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    os.chdir(os.environ["SLUICE_EVALUATION"])
    write_tasks("bigbench-1.0.0.tar.gz")
    sys.exit(main(*sys.argv[1:]))
