// Gathers rows of a matrix by their indices, out[i] = x[indices[i]], f32: the rows whose logits are wanted.
//
// A block for a row and a range of its columns, WIDTH columns a thread (4: 16 bytes). Bytes: 4 read and 4 written for each value.
// sass [WIDTH=4]: gather_rows has LDG\.E\.128

KERNEL __launch_bounds__(256) void gather_rows(const float* x, const u32* indices, float* out, u32 cols) {
    grid_launch_dependents();
    grid_dependency_wait();
    u32 col = (blockIdx.y * 256 + threadIdx.x) * WIDTH;
    if (col >= cols) return;
    store(out + (u64)blockIdx.x * cols + col, load<WIDTH>(x + (u64)indices[blockIdx.x] * cols + col));
}
