// Activation of gpt-oss's experts: out = (up + 1) * gate / (1 + exp(-alpha * gate)), with gate ≤ limit and -limit ≤ up ≤ limit,
// as in its reference implementation; bf16 to bf16, computed in f32. Columns of gate and up alternate in each row.
//
// A block for a row and a range of its columns, WIDTH results a thread (8: two loads of 16 bytes and a store). Fuses the clamps, the
// sigmoid and the products. Bytes: 4 read and 2 written for each result.

KERNEL __launch_bounds__(256) void clamped_swiglu(const bf16* gate_up, bf16* out, u32 cols, float alpha, float limit) {
    grid_launch_dependents();
    grid_dependency_wait();
    u32 col = (blockIdx.y * 256 + threadIdx.x) * WIDTH;
    if (col >= cols) return;
    const bf16* pairs = gate_up + ((u64)blockIdx.x * cols + col) * 2;
    Floats<WIDTH> first = load<WIDTH>(pairs), second = load<WIDTH>(pairs + WIDTH), result;
    _Pragma("unroll") for (int i = 0; i < WIDTH; i++) {
        float gate = 2 * i < WIDTH ? first.at[2 * i % WIDTH] : second.at[2 * i % WIDTH];
        float up = 2 * i + 1 < WIDTH ? first.at[(2 * i + 1) % WIDTH] : second.at[(2 * i + 1) % WIDTH];
        gate = fminf(gate, limit), up = fminf(fmaxf(up, -limit), limit);
        result.at[i] = (up + 1.0f) * gate / (1.0f + __expf(-alpha * gate));
    }
    store(out + (u64)blockIdx.x * cols + col, result);
}
