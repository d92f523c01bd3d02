"""Writes qwen3-tiny as a GGUF file with f32 weights, for llama.cpp.

    python make_gguf.py MODEL_DIR OUT.gguf

Keys and tensor names are those of the package `gguf`. The model's pre-tokenizer is `qwen3-tiny`, which `llamacpp.patch` adds, since
llama.cpp knows pre-tokenizers by name only.
"""
import json
import pathlib
import struct
import sys

import gguf
import numpy

# The vocabulary has no merges, but llama.cpp requires the key, and gguf writes no empty list. This merge never applies, because the
# pre-tokenizer separates white space.
MERGES = ["Ġ Ġ"]


def weights(path):
    """Yields (name, f32 array) for each tensor of a safetensors file that has bf16 only."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "BF16", name
        start, end = (8 + size + at for at in entry["data_offsets"])
        halves = numpy.frombuffer(data[start:end], "<u2").astype("<u4")
        yield name, (halves << 16).view("<f4").reshape(entry["shape"])


def add_tokens(writer, tokenizer, rows):
    """Writes the vocabulary, padded to the rows of the embedding."""
    words = {i: word for word, i in tokenizer["model"]["vocab"].items()}
    kinds = dict.fromkeys(words, gguf.TokenType.NORMAL)
    for token in tokenizer["added_tokens"]:
        words[token["id"]] = token["content"]
        kinds[token["id"]] = gguf.TokenType.CONTROL if token["special"] else gguf.TokenType.USER_DEFINED
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen3-tiny")
    writer.add_token_list([words.get(i, f"[PAD{i}]") for i in range(rows)])
    writer.add_token_types([kinds.get(i, gguf.TokenType.UNUSED) for i in range(rows)])
    writer.add_token_merges(MERGES)


def add_config(writer, config):
    writer.add_name("qwen3-tiny")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(False)


def main(model, out):
    model = pathlib.Path(model)
    config = json.loads((model / "config.json").read_text())
    writer = gguf.GGUFWriter(out, gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.QWEN3])
    add_config(writer, config)
    add_tokens(writer, json.loads((model / "tokenizer.json").read_text()), config["vocab_size"])
    writer.add_chat_template((model / "chat_template.jinja").read_text())
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, config["num_hidden_layers"])
    for name, tensor in weights(model / "model.safetensors"):
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
