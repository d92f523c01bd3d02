"""Writes a model with random bf16 weights as a GGUF file, from a config.json of Qwen3 (dense or experts).

    python make_gguf.py CONFIG.json OUT.gguf

There is no vocabulary in it: benchmarks of engines need none. Keys and tensor names are those of the package `gguf`.
"""
import json
import pathlib
import sys

import gguf
import numpy


def bf16(generator, shape):
    """Random weights, spread like those of a trained layer, as the upper halves of f32."""
    values = generator.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.02)
    return (values.view("<u4") >> 16).astype("<u2")


def config_keys(writer, config):
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    if "num_experts" in config:
        writer.add_expert_count(config["num_experts"])
        writer.add_expert_used_count(config["num_experts_per_tok"])
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])


def matrices(config):
    """(name, shape) of all weights that are multiplied."""
    hidden, head = config["hidden_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    yield "token_embd", (config["vocab_size"], hidden)
    if not config["tie_word_embeddings"]:
        yield "output", (config["vocab_size"], hidden)
    for layer in range(config["num_hidden_layers"]):
        yield f"blk.{layer}.attn_q", (queries, hidden)
        yield f"blk.{layer}.attn_k", (keys, hidden)
        yield f"blk.{layer}.attn_v", (keys, hidden)
        yield f"blk.{layer}.attn_output", (hidden, queries)
        if "num_experts" in config:
            experts, width = config["num_experts"], config["moe_intermediate_size"]
            yield f"blk.{layer}.ffn_gate_exps", (experts, width, hidden)
            yield f"blk.{layer}.ffn_up_exps", (experts, width, hidden)
            yield f"blk.{layer}.ffn_down_exps", (experts, hidden, width)
        else:
            width = config["intermediate_size"]
            yield f"blk.{layer}.ffn_gate", (width, hidden)
            yield f"blk.{layer}.ffn_up", (width, hidden)
            yield f"blk.{layer}.ffn_down", (hidden, width)


def vectors(config):
    """(name, shape) of what is kept in f32."""
    hidden, head = config["hidden_size"], config["head_dim"]
    yield "output_norm", (hidden,)
    for layer in range(config["num_hidden_layers"]):
        for name, width in [("attn_norm", hidden), ("ffn_norm", hidden), ("attn_q_norm", head), ("attn_k_norm", head)]:
            yield f"blk.{layer}.{name}", (width,)
        if "num_experts" in config:
            yield f"blk.{layer}.ffn_gate_inp", (config["num_experts"], hidden)


def main():
    config = json.loads(pathlib.Path(sys.argv[1]).read_text())
    generator = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(sys.argv[2], "qwen3moe" if "num_experts" in config else "qwen3")
    config_keys(writer, config)
    for name, shape in matrices(config):
        data = bf16(generator, shape)
        writer.add_tensor(f"{name}.weight", data.view("u1"), raw_dtype=gguf.GGMLQuantizationType.BF16)
    for name, shape in vectors(config):
        data = generator.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.02)
        writer.add_tensor(f"{name}.weight", data + numpy.float32(len(shape) == 1))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
