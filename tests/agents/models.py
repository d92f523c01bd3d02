"""Model directories for the replay engine: the embedded model's vocabulary, each format's own tokens and template, and no weights.

No parser is named: the server has to choose it by the model's directory.
"""
import json
import pathlib
import shutil
import string

HERE = pathlib.Path(__file__).resolve().parent
EMBEDDED = HERE.parents[1] / "host/models/qwen3-tiny"
CONTEXT = 262_144  # agents send prompts that are longer than the embedded model's own context

CHATML = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
THINK = ["<think>", "</think>"]
QWEN = [*CHATML, *THINK, "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
KIMI_CALLS = [f"<|tool_call{part}|>" for part in ("s_section_begin", "s_section_end", "_begin", "_argument_begin", "_end")]
KIMI_TURNS = [f"<|im_{part}|>" for part in ("user", "assistant", "system", "middle")]
HARMONY = [f"<|{name}|>" for name in ("endoftext", "start", "end", "message", "channel", "constrain", "return", "call")]

# name: (model_type, added tokens, tokens that end a turn)
FORMATS = {
    "qwen3": ("qwen3", QWEN, ["<|im_end|>", "<|endoftext|>"]),
    "qwen3-coder": ("qwen3_moe", QWEN, ["<|im_end|>", "<|endoftext|>"]),
    "kimi-k2": ("kimi_k2", ["[EOS]", "<|im_end|>", *KIMI_TURNS, *THINK, *KIMI_CALLS], ["<|im_end|>", "[EOS]"]),
    "harmony": ("gpt_oss", HARMONY, ["<|return|>", "<|call|>", "<|endoftext|>"]),
}


def make(name, folder):
    """Writes the directory of one format and returns its path."""
    model_type, tokens, ends = FORMATS[name]
    directory = pathlib.Path(folder) / name
    directory.mkdir(parents=True)
    tokenizer = json.loads((EMBEDDED / "tokenizer.json").read_text())
    first = max(tokenizer["model"]["vocab"].values()) + 1
    plain = {key: False for key in ("single_word", "lstrip", "rstrip", "normalized")}
    tokenizer["added_tokens"] = [
        {"id": first + number, "content": token, **plain, "special": token not in THINK}
        for number, token in enumerate(tokens)
    ]
    write = lambda file, value: (directory / file).write_text(json.dumps(value))
    write("tokenizer.json", tokenizer)
    write("tokenizer_config.json", {"eos_token": ends[0], "model_max_length": CONTEXT})
    write("config.json", {"model_type": model_type, "max_position_embeddings": CONTEXT})
    write("generation_config.json", {"eos_token_id": [first + tokens.index(end) for end in ends]})
    template = EMBEDDED / "chat_template.jinja" if name == "qwen3" else HERE / f"formats/{name}.jinja"
    shutil.copy(template, directory / "chat_template.jinja")
    return directory


def make_sentence_piece(folder):
    """Writes the directory of a model for random weights whose tokenizer is of SentencePiece's kind: `▁` for a space, bytes where it has no character."""
    directory = make("qwen3", folder)
    file = directory / "tokenizer.json"
    made = json.loads(file.read_text())
    # Characters and pairs of letters; the added tokens keep their places behind.
    pieces = [f"<0x{byte:02X}>" for byte in range(256)] + [chr(code) for code in range(ord("!"), ord("~") + 1)] + ["▁"]
    letters = string.ascii_lowercase
    merges = [[left, right] for left in ["▁", *"abcdehilnors"] for right in letters]
    pieces += [left + right for left, right in merges]
    first = made["added_tokens"][0]["id"]
    pieces += [f"<unused{number}>" for number in range(first - len(pieces))]
    made["model"] = {"type": "BPE", "unk_token": None, "byte_fallback": True, "fuse_unk": True, "merges": merges}
    made["model"]["vocab"] = {piece: number for number, piece in enumerate(pieces)}
    space = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    made |= {"normalizer": space, "pre_tokenizer": None, "post_processor": None}
    made["decoder"] = {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}]}
    file.write_text(json.dumps(made))
    return _for_random_weights(directory)


def make_weightless(folder):
    """Writes the directory of a model of Qwen3-Coder's format, for random weights (`--load-format dummy`)."""
    return _for_random_weights(make("qwen3-coder", folder))


def _for_random_weights(directory):
    config = json.loads((directory / "config.json").read_text())
    vocabulary = len(json.loads((directory / "tokenizer.json").read_text())["model"]["vocab"]) + len(QWEN)
    config |= {"vocab_size": vocabulary, "hidden_size": 64, "num_hidden_layers": 2, "rms_norm_eps": 1e-6, "rope_theta": 1e6}
    config |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "tie_word_embeddings": True}
    config |= {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "intermediate_size": 64}
    config |= {"torch_dtype": "bfloat16", "hidden_act": "silu", "norm_topk_prob": True}
    (directory / "config.json").write_text(json.dumps(config))
    # Greedy, so that every run takes the same way through the grammar: sampled, the model sometimes calls a tool or writes without end.
    generation = json.loads((directory / "generation_config.json").read_text()) | {"do_sample": False}
    (directory / "generation_config.json").write_text(json.dumps(generation))
    return directory
