// Gated feed-forward layer: out = activation(gate) * up, bf16 to bf16, computed in f32. GATE 0 is SwiGLU (Shazeer 2020,
// arXiv:2002.05202), gate / (1 + exp(-gate)); GATE 1 is GELU with tanh (arXiv:1606.08415), by (1 + tanh(y)) / 2 = 1 / (1 + exp(-2y)).
//
// A block for a row and a range of its columns, WIDTH columns a thread (8: 16 bytes of gate, up and out). Gate and up are
// interleaved in groups of `group` columns. Fuses the activation and the product. Bytes: 4 read and 2 written for each result.
// sass [WIDTH=8]: gate_mul lacks LDG(?!\.E\.128)

DEVICE float minus_exponent(float x) {
    return GATE == 1 ? 1.5957691f * (x + 0.044715f * x * x * x) : x;
}

KERNEL __launch_bounds__(256) void gate_mul(const bf16* gate_up, bf16* out, u32 cols, u32 group) {
    grid_launch_dependents();
    grid_dependency_wait();
    u32 col = (blockIdx.y * blockDim.x + threadIdx.x) * WIDTH;
    if (col >= cols) return;
    const bf16* place = gate_up + (u64)blockIdx.x * 2 * cols + (u64)(col / group) * 2 * group + col % group;
    Floats<WIDTH> gate = load<WIDTH>(place);
    Floats<WIDTH> up = load<WIDTH>(place + group);
    _Pragma("unroll") for (int i = 0; i < WIDTH; i++) {
        gate.at[i] = gate.at[i] / (1.0f + __expf(-minus_exponent(gate.at[i]))) * up.at[i];
    }
    store(out + (u64)blockIdx.x * cols + col, gate);
}
