"""Writes random bf16 weights for a configuration of Qwen3's architecture, as one safetensors file: a checkpoint whose load can be timed.

usage: checkpoint.py FOLDER, which has config.json; writes FOLDER/model.safetensors. Weights are ±0.008 to ±0.03, so that they are finite in bf16.
"""

import json
import os
import pathlib
import sys

# Bytes that are written at once. Tensors repeat them, which makes no difference to whoever reads them.
PIECE = 64 << 20


def tensors(config):
    """Returns the shapes of all tensors by name."""
    hidden, inner, dim = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * dim, config["num_key_value_heads"] * dim
    shapes = {"model.embed_tokens.weight": [config["vocab_size"], hidden]}
    for layer in range(config["num_hidden_layers"]):
        of_layer = {
            "input_layernorm": [hidden],
            "self_attn.q_proj": [queries, hidden],
            "self_attn.k_proj": [keys, hidden],
            "self_attn.v_proj": [keys, hidden],
            "self_attn.o_proj": [hidden, queries],
            "self_attn.q_norm": [dim],
            "self_attn.k_norm": [dim],
            "post_attention_layernorm": [hidden],
            "mlp.gate_proj": [inner, hidden],
            "mlp.up_proj": [inner, hidden],
            "mlp.down_proj": [hidden, inner],
        }
        shapes.update({f"model.layers.{layer}.{name}.weight": shape for name, shape in of_layer.items()})
    shapes["model.norm.weight"] = [hidden]
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = [config["vocab_size"], hidden]
    return shapes


def header(shapes):
    """Returns the header of a safetensors file, and the number of bytes behind it."""
    entries, end = {}, 0
    for name, shape in shapes.items():
        begin = end
        end += 2 * shape[0] * (shape[1] if len(shape) == 2 else 1)
        entries[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, end


def random_weights():
    """Returns PIECE bytes of bf16: the upper byte is a sign and one exponent, the lower one is random."""
    weights = bytearray(os.urandom(PIECE))
    weights[1::2] = weights[1::2].translate(bytes([0x3C, 0xBC] * 128))
    return weights


def main():
    folder = pathlib.Path(sys.argv[1])
    begin, size = header(tensors(json.loads((folder / "config.json").read_text())))
    weights = random_weights()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(begin)
        for at in range(0, size, PIECE):
            file.write(weights[: min(PIECE, size - at)])
        file.flush()
        os.fsync(file.fileno())
    print(f"{size / 1e9:.2f} GB of weights in {folder}")


main()
