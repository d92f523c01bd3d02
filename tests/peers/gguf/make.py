"""Writes a GGUF file of random weights (bf16) with llama.cpp's own converter, from a config.json of transformers.

    python make.py LLAMA_CPP_SOURCE CONFIG.json OUT.gguf

Python needs torch and transformers. The tokenizer has as many tokens as the model, and made-up words: speed doesn't depend on them.
"""
import json
import pathlib
import sys
import tempfile

import torch
import transformers

# A way to cut text that every reader of the files knows.
PRE_TOKENIZER = "qwen2"


def byte_letters():
    """Returns the letters that stand for bytes in byte-level vocabularies: printable ones for themselves, others from 256 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = 256 - len(plain)
    return [chr(code) for code in [*plain, *range(0x100, 0x100 + others)]]


def tokenizer(size):
    end = {"id": 0, "content": "<|end|>", "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    # Converters want merges; the file needs one.
    tokens = [*byte_letters(), "ab"]
    tokens += [f"word{i}" for i in range(size - 1 - len(tokens))]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": {token: i + 1 for i, token in enumerate(tokens)}, "merges": [["a", "b"]]}
    return {"version": "1.0", "added_tokens": [end], "pre_tokenizer": byte_level, "decoder": byte_level, "model": model}


def write_checkpoint(config, directory):
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(directory)
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer(config.vocab_size)))
    (directory / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>"}))


def convert(source, directory, out):
    sys.path.insert(0, str(source))
    import convert_hf_to_gguf
    from conversion.base import ModelBase, TextModel

    ModelBase.no_mtp = True
    # The converter knows pre-tokenizers by a checksum of published ones, and looks for a SentencePiece model first.
    TextModel.get_vocab_base_pre = lambda self, tokenizer: PRE_TOKENIZER
    TextModel._set_vocab_sentencepiece = TextModel._set_vocab_gpt2
    sys.argv = ["convert_hf_to_gguf.py", str(directory), "--outtype", "bf16", "--outfile", str(out)]
    convert_hf_to_gguf.main()


def main():
    source, config, out = map(pathlib.Path, sys.argv[1:])
    settings = json.loads(config.read_text())
    config = transformers.AutoConfig.for_model(settings.pop("model_type"), **settings, bos_token_id=0, eos_token_id=0, pad_token_id=0)
    with tempfile.TemporaryDirectory(dir=out.parent) as directory:
        directory = pathlib.Path(directory)
        write_checkpoint(config, directory)
        convert(source, directory, out)


main()
