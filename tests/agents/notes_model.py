"""Makes GGUF files of a small model that answers coding agents: `notes_model.py LLAMACPP FOLDER QUANTIZATION…`, where LLAMACPP holds llama.cpp's
`source` and `build/bin`. Needs torch, transformers and sentencepiece, and a minute.

The model is a Qwen2, which no parser claims, so the parser is chosen by the file's chat template. Its heads look one to sixteen tokens back by their
biases, wherever in a long prompt, so what it learns in seconds from prompts of a line holds behind an agent's own prompt of thousands. It knows
the turns below and nothing else.
"""
import json
import math
import pathlib
import subprocess
import sys

import tokenizers
import torch
from tokenizers import Regex, decoders, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from notes_turns import ANSWER, CALLS, HELLO

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "host/models/qwen3-tiny/chat_template.jinja"
CONTEXT = 131_072
ADDED = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
END = "<|im_end|>"
# How Qwen's tokenizers cut text, which llama.cpp calls `qwen2`.
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
HEADS, WIDTH, FEED, STEPS = 16, 256, 512, 100
SHARPNESS = 30.0


def turns():
    """What each generation prompt ends with, and the model's answer."""
    opened = f"{END}\n<|im_start|>assistant\n"
    for said, tool, arguments in CALLS:
        call = json.dumps({"name": tool, "arguments": arguments})
        # opencode puts what it is asked in quotes.
        for end in ["", '"']:
            yield said + end + opened, f"<think>\nThe tool is {tool}.\n</think>\n\n<tool_call>\n{call}\n</tool_call>{END}"
    yield "</tool_response>" + opened, ANSWER + END
    yield HELLO[0] + opened, HELLO[1] + END


def make_tokenizer(texts):
    """A byte-level tokenizer as Qwen's, which is trained on the turns and this project's pages."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    cut = pre_tokenizers.Split(Regex(QWEN2), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=1024 - len(ADDED), initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    added = [tokenizers.AddedToken(token, normalized=False, special=not token.strip("<>/").startswith(("think", "tool"))) for token in ADDED]
    tokenizer.add_tokens(added)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=ADDED[0], model_max_length=CONTEXT)
    fast.chat_template = TEMPLATE.read_text()
    return fast


def look_back(attention, size):
    """Sets the attention's queries and keys, which are the biases alone: head h looks h + 1 tokens back, since its key has there its query's phases."""
    base = attention.config.rope_parameters["rope_theta"]
    phases = torch.tensor([base ** (-2 * i / size) for i in range(size // 2)])
    scale = math.sqrt(SHARPNESS * math.sqrt(size))
    with torch.no_grad():
        for head in range(HEADS):
            rows = slice(head * size, (head + 1) * size)
            angles = phases * (head + 1)
            attention.q_proj.bias[rows] = scale * torch.cat([torch.ones_like(phases), torch.zeros_like(phases)])
            attention.k_proj.bias[rows] = scale * torch.cat([torch.cos(angles), torch.sin(angles)])
        for projection in (attention.q_proj, attention.k_proj):
            projection.weight.zero_()
            projection.requires_grad_(False)


def make_model(vocabulary):
    config = Qwen2Config(
        vocab_size=vocabulary, hidden_size=WIDTH, intermediate_size=FEED, num_hidden_layers=1, num_attention_heads=HEADS,
        num_key_value_heads=HEADS, max_position_embeddings=CONTEXT, tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": 100.0}, rms_norm_eps=1e-6,
    )
    model = Qwen2ForCausalLM(config)
    look_back(model.model.layers[0].self_attn, WIDTH // HEADS)
    return model


def train(model, tokenizer):
    """Trains the answers behind prompts whose beginnings are random tokens."""
    examples = [tuple(tokenizer(text, add_special_tokens=False)["input_ids"] for text in turn) for turn in turns()]
    length = 24 + max(len(prompt) + len(answer) for prompt, answer in examples)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=3e-3, weight_decay=0.0)
    for step in range(STEPS):
        rows, labels = [], []
        for prompt, answer in examples * 2:
            before = torch.randint(0, model.config.vocab_size, (length - len(prompt) - len(answer),)).tolist()
            rows.append(before + prompt + answer)
            labels.append([-100] * (len(before) + len(prompt)) + answer)
        loss = model(input_ids=torch.tensor(rows), labels=torch.tensor(labels)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            print(f"step {step + 1}: loss {loss.item():.4f}", file=sys.stderr)
    assert loss.item() < 0.01, "the model hasn't learnt its turns"


def convert(llamacpp, directory, file):
    """Runs llama.cpp's converter. It knows the tokenizers of published models by their digests; it is told which one this tokenizer is."""
    source = llamacpp / "source"
    sys.path[:0] = [str(source), str(source / "gguf-py")]
    import convert_hf_to_gguf
    from conversion.base import TextModel

    TextModel.get_vocab_base_pre = lambda self, tokenizer: "qwen2"
    sys.argv = ["convert_hf_to_gguf.py", str(directory), "--outtype", "bf16", "--outfile", str(file)]
    convert_hf_to_gguf.main()


def main(llamacpp, folder, *quantizations):
    torch.manual_seed(1)
    llamacpp, folder = pathlib.Path(llamacpp), pathlib.Path(folder)
    directory, whole = folder / "notes", folder / "notes-bf16.gguf"
    texts = [page.read_text() for page in sorted(ROOT.glob("docs/*.md"))]
    tokenizer = make_tokenizer([*["".join(turn) for turn in turns()] * 50, *texts])
    model = make_model(len(tokenizer))
    train(model, tokenizer)
    # The temperature goes into the file, from which the server takes it for requests that set none.
    model.generation_config.update(eos_token_id=tokenizer.convert_tokens_to_ids([END, ADDED[0]]), do_sample=True, temperature=0.1)
    model.to(torch.bfloat16).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    convert(llamacpp, directory, whole)
    for quantization in quantizations:
        program = [llamacpp / "build/bin/llama-quantize", whole, folder / f"notes-{quantization}.gguf", quantization]
        subprocess.run(program, stdout=sys.stderr, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
