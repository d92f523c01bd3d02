// Embedding: out[row] = factor * table[token of row], bf16 to f32.
//
// A block for a row and a range of its columns, WIDTH columns a thread (8: a load of 16 bytes and two stores). The factor is fused.
// Bytes: 2 read and 4 written for each value. LAST stands for the last sample of the row's lane, which the host doesn't know yet.
// A token outside of the table makes a row of NaN; nothing outside of the table is read.
// sass [WIDTH=8]: embed has LDG\.E\.128

#define LAST 0xffffffffu

KERNEL __launch_bounds__(256) void embed(const u32* tokens, const u32* samples, const u32* lanes, const bf16* table,
                                         float* out, u32 cols, u32 vocab, float factor) {
    grid_launch_dependents();
    grid_dependency_wait();
    u32 col = (blockIdx.y * blockDim.x + threadIdx.x) * WIDTH;
    if (col >= cols) return;
    u32 token = tokens[blockIdx.x];
    if (token == LAST && samples) token = samples[lanes[blockIdx.x]];
    Floats<WIDTH> row;
    if (token < vocab) {
        row = load<WIDTH>(table + (u64)token * cols + col);
        _Pragma("unroll") for (int i = 0; i < WIDTH; i++) row.at[i] *= factor;
    } else {
        for (int i = 0; i < WIDTH; i++) row.at[i] = __uint_as_float(0x7fc00000u);
    }
    store(out + (u64)blockIdx.x * cols + col, row);
}
