"""Writes blocks.bin: random blocks of each type, and their values as the package `gguf` dequantizes
them. Run by hand: `pip install gguf==0.19.0`, then `python make.py`.

For each type: its number (u32), the number of blocks (u32), the blocks, their values (f32).
"""

import struct
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type, quants

VALUES = 1024
# Places of half floats in a block.
HALVES = {
    Type.Q4_0: [0],
    Type.Q4_1: [0, 2],
    Type.Q5_0: [0],
    Type.Q5_1: [0, 2],
    Type.Q8_0: [0],
    Type.Q2_K: [80, 82],
    Type.Q3_K: [108],
    Type.Q4_K: [0, 2],
    Type.Q5_K: [0, 2],
    Type.Q6_K: [208],
    Type.IQ4_NL: [0],
    Type.IQ4_XS: [0],
    Type.MXFP4: [],
}


def main() -> None:
    random = np.random.default_rng(1)
    with Path(__file__).with_name("blocks.bin").open("wb") as out:
        for kind, places in HALVES.items():
            length, size = GGML_QUANT_SIZES[kind]
            count = VALUES // length
            blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
            for place in places:
                # Of both signs, from subnormal to large.
                halves = random.normal(size=count) * 10.0 ** random.integers(-6, 3, count)
                blocks[:, place : place + 2] = halves.astype("<f2").reshape(-1, 1).view(np.uint8)
            if kind == Type.MXFP4:
                blocks[:, 0] = np.append([0, 1, 2, 252], random.integers(100, 150, count - 4))
            values = quants.dequantize(blocks.reshape(-1), kind).astype("<f4")
            assert values.size == VALUES and np.isfinite(values).all(), kind
            out.write(struct.pack("<II", kind, count) + blocks.tobytes() + values.tobytes())


if __name__ == "__main__":
    main()
