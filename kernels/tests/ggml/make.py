"""Writes blocks.bin: random blocks of each type, and their values as the package `gguf` dequantizes
them; and the grids of the format, for the decoders. Run by hand: `pip install gguf==0.19.0`, then
`python make.py`.

For each type: its number (u32), the number of blocks (u32), the blocks, their values (f32). Q1_0 and
Q2_0 aren't among them, since the package doesn't dequantize them.
"""

import struct
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type, quants

VALUES = 512
GRIDS = Path(__file__).parents[2] / "src/ggml/grids.bin"
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
    Type.IQ1_S: [0],
    Type.IQ1_M: [],
    Type.IQ2_XXS: [0],
    Type.IQ2_XS: [0],
    Type.IQ2_S: [0],
    Type.IQ3_XXS: [0],
    Type.IQ3_S: [0],
    Type.TQ1_0: [52],
    Type.TQ2_0: [64],
    Type.NVFP4: [],
}


def write_grids() -> None:
    """Eight codes of two bits in an entry, or four of four."""
    with GRIDS.open("wb") as out:
        for kind in [quants.IQ2_XXS, quants.IQ2_XS, quants.IQ2_S, quants.IQ1_S, quants.IQ3_XXS, quants.IQ3_S]:
            kind.init_grid()
            grid = np.searchsorted(kind.grid_map, kind.grid.reshape(kind.grid_shape)).astype(np.uint16)
            bits = 16 // grid.shape[1]
            entries = np.sum(grid << (bits * np.arange(grid.shape[1], dtype=np.uint16)), axis=1)
            out.write(entries.astype("<u2").tobytes())


def main() -> None:
    write_grids()
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
            if kind == Type.IQ1_M:
                # The highest digit of the factor, so that it is finite.
                blocks[:, 55] = blocks[:, 55] & 0xBF
            if kind == Type.MXFP4:
                blocks[:, 0] = np.append([0, 1, 2, 252], random.integers(100, 150, count - 4))
            if kind == Type.NVFP4:
                # All kinds of factors: zero, subnormal, the largest, those that are no numbers.
                blocks[0, :4] = [0, 1, 0x7E, 0x7F]
                blocks[1, :4] = [7, 8, 0x80, 0xFF]
            values = quants.dequantize(blocks.reshape(-1), kind).astype("<f4")
            assert values.size == VALUES and np.isfinite(values).all(), kind
            out.write(struct.pack("<II", kind, count) + blocks.tobytes() + values.tobytes())


if __name__ == "__main__":
    main()
