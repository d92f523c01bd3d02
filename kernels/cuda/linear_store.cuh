// Store of the f32 sums of a linear layer: a bias is added, then one of four things is done (STORE).

// Sums replace the bf16 output.
#define STORE_BF16 0
// Sums replace the f32 output.
#define STORE_F32 1
// Sums are added to the f32 output (a residual connection).
#define STORE_ADD 2
// Outputs are interleaved, eight of gate and eight of up; silu(gate) * up replaces the bf16 output, which has half the columns.
#define STORE_SWIGLU 3

#if STORE == STORE_F32 || STORE == STORE_ADD
typedef float Out;
#else
typedef bf16 Out;
#endif

DEVICE float swiglu(float gate, float up) {
    return gate / (1.0f + __expf(-gate)) * up;
}

DEVICE void put(float* p, float x) {
    *p = STORE == STORE_ADD ? *p + x : x;
}

DEVICE void put(bf16* p, float x) {
    *p = bf16_of(x);
}

// Writes two neighbours, at an address that is a multiple of their size together.
DEVICE void put_two(float* p, float x, float y) {
    float2 old = STORE == STORE_ADD ? *(float2*)p : make_float2(0.0f, 0.0f);
    *(float2*)p = make_float2(old.x + x, old.y + y);
}

DEVICE void put_two(bf16* p, float x, float y) {
    *(u32*)p = bf16_pair(x, y);
}

// Writes two neighbours of a row of the output, which has `cols` columns.
DEVICE void put_pair(Out* out, u32 row, u32 col, u32 cols, float x, float y) {
    Out* p = out + (u64)row * cols + col;
    if (cols % 2 == 0) {
        put_two(p, x, y);
    } else {
        put(p, x);
        if (col + 1 < cols) put(p + 1, y);
    }
}

// Writes the sums of columns `col` and `col + 1`, and those of columns `col + 8` and `col + 9` (`next`); `bias` has a number for
// each of the four.
DEVICE void put_sums(Out* out, u32 row, u32 col, u32 outputs, const float* sums, const float* next, const float* bias) {
    float x[2] = {sums[0] + bias[0], sums[1] + bias[1]}, y[2] = {next[0] + bias[2], next[1] + bias[3]};
    if (STORE == STORE_SWIGLU) {
        if (col < outputs) put_pair(out, row, col / 16 * 8 + col % 8, outputs / 2, swiglu(x[0], y[0]), swiglu(x[1], y[1]));
        return;
    }
    if (col < outputs) put_pair(out, row, col, outputs, x[0], x[1]);
    if (col + 8 < outputs) put_pair(out, row, col + 8, outputs, y[0], y[1]);
}

// Writes the sums of columns `col` and `col + 8`.
DEVICE void put_sum(Out* out, u32 row, u32 col, u32 outputs, float x, float y) {
    if (STORE == STORE_SWIGLU) {
        if (col < outputs) put(out + (u64)row * (outputs / 2) + col / 16 * 8 + col % 8, swiglu(x, y));
        return;
    }
    Out* p = out + (u64)row * outputs + col;
    if (col < outputs) put(p, x);
    if (col + 8 < outputs) put(p + 8, y);
}
