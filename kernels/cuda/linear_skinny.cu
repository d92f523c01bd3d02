// A linear layer, y = x · weightᵀ, for at most 16 rows, where the time is that of reading the weight: x in bf16, the weight in bf16 or
// FP8, f32 sums, then linear_store.cuh. NORM: x is the f32 residual stream, and its RMS norm (rms_norm.cu) is computed here.
//
// A block computes 16 rows of the weight; its 8 warps divide K among them, 128 columns at a time. A lane has rows g and g + 8 (g
// = lane / 4), of each 16 bytes, the lane % 4-th of four neighbours. As loaded, 8 columns of bf16 are operand A of two
// mma.m16n8k16. This permutes K, which doesn't matter since operand B, eight rows of x (TILES of them), is permuted alike: 16
// bytes as well. So the weight goes from memory to registers to tensor cores, FP8 (16 columns) through fp8.cuh. Each lane always
// has 8 loads of 16 bytes under way, of FP8 4, the first before the launch in front has ended. x lies in shared memory, its rows 64
// bytes (FP8: 16) off a multiple of 128 so that the chunks of two rows lie in all banks (SHARED_X), or comes from the caches. At the
// end the warps' sums are added in order.
//
// FP8 has quantisation blocks of 128 columns: a warp's sums of 128 columns are multiplied by the scales of rows g and g + 8, which
// all its lanes have in common. K is a multiple of 16.
//
// Bytes: the weight 2 * N * K once (FP8: N * K, and 4 for each 8 * 128 weights); x from the second-level cache once for each block
// (SHARED_X).
// sass: linear_skinny has LDG\.E\.NA\.128
// sass: linear_skinny lacks LDG\.E\.U16
// sass: linear_skinny has HMMA\.16816\.F32\.BF16
// sass [FP8=1]: linear_skinny has H(FMA|MUL)2\.BF16

constexpr u32 STRIDE = WARPS * SPAN;
// Columns of a lane's 16 bytes, and their number in a row of a warp's columns.
constexpr u32 CHUNK_COLS = FP8 ? 16 : 8, PARTS = SPAN / (4 * CHUNK_COLS);
// Floats from the sums of a row of x to those of the next row.
constexpr u32 SUMS = 20;

// Sum over all warps for a row of x and a row of the weight.
DEVICE float total(const float* sums, u32 row, u32 output) {
    float sum = 0.0f;
    _Pragma("unroll") for (u32 warp = 0; warp < WARPS; warp++) sum += sums[(warp * TILES * 8 + row) * SUMS + output];
    return sum;
}

DEVICE void finish(const float* sums, const float* bias, Out* out, u32 rows, u32 outputs) {
    u32 row = threadIdx.x / 16, output = threadIdx.x % 16, col = blockIdx.x * 16 + output;
    if (row >= rows || col >= outputs) return;
    float y = total(sums, row, output) + (bias ? bias[col] : 0.0f);
    if (STORE != STORE_SWIGLU) {
        put(out + (u64)row * outputs + col, y);
    } else if (output < 8) {
        float up = total(sums, row, output + 8) + (bias ? bias[col + 8] : 0.0f);
        put(out + (u64)row * (outputs / 2) + blockIdx.x * 8 + output, swiglu(y, up));
    }
}

// Two rows of the weight, eight apart, from a lane's next columns on, and their scales for the warp's next columns.
struct Rows {
    const u8 *upper, *lower;
    const float *upper_scale, *lower_scale;
};

// What a lane has of its rows: 16 bytes in each part of the warp's columns, and scales.
struct Columns {
    uint4 upper[PARTS], lower[PARTS];
    float upper_scale, lower_scale;
};

DEVICE Rows rows_of(const u8* weight, const float* scales, u32 outputs, u32 inputs, u32 first) {
    u32 upper = min(blockIdx.x * 16 + threadIdx.x % 32 / 4, outputs - 1), lower = min(upper + 8, outputs - 1);
    const u8* from = weight + first / CHUNK_COLS * 16;
    u64 row_bytes = (u64)(inputs / CHUNK_COLS) * 16;
    Rows rows = {from + upper * row_bytes, from + lower * row_bytes, nullptr, nullptr};
    if (FP8) {
        u32 blocks = (inputs + SPAN - 1) / SPAN;
        rows.upper_scale = scales + (u64)(upper / FP8_ROWS) * blocks + first / SPAN;
        rows.lower_scale = scales + (u64)(lower / FP8_ROWS) * blocks + first / SPAN;
    }
    return rows;
}

// Loads a part from column `col` on. Behind K it stays as it is: x is zero there.
DEVICE void fetch(Columns& columns, const Rows& rows, u32 part, u32 col, u32 inputs) {
    load_weight_into(columns.upper[part], rows.upper + part * 64, col < inputs);
    load_weight_into(columns.lower[part], rows.lower + part * 64, col < inputs);
}

// Loads the scales of the warp's columns, which begin at `first`.
DEVICE void fetch_scales(Columns& columns, const Rows& rows, u32 first, u32 inputs) {
    if (FP8 && first < inputs) columns.upper_scale = *rows.upper_scale, columns.lower_scale = *rows.lower_scale;
}

DEVICE void advance(Rows& rows) {
    rows.upper += STRIDE / CHUNK_COLS * 16, rows.lower += STRIDE / CHUNK_COLS * 16;
    if (FP8) rows.upper_scale += WARPS, rows.lower_scale += WARPS;
}

// Eight of a lane's columns as pairs of bf16.
DEVICE void widen(u32 (&pairs)[4], const uint4& bits, u32 eighth) {
    if (FP8) {
        unpack_fp8(pairs, eighth ? bits.z : bits.x, eighth ? bits.w : bits.y);
    } else {
        pairs[0] = bits.x, pairs[1] = bits.y, pairs[2] = bits.z, pairs[3] = bits.w;
    }
}

// Eight columns of x from an element on, which is in column `col`.
DEVICE uint4 load_x(const bf16* x, u32 at, u32 col, u32 inputs) {
    bool inside = NORM || SHARED_X || col < inputs;
    return inside ? *(const uint4*)(x + at) : make_uint4(0, 0, 0, 0);
}

// Adds the products of a part, whose columns begin at `col`; `x_rows` are indexes in x.
DEVICE void multiply(float (&sums)[TILES][4], const Columns& columns, u32 part, const bf16* x, const u32 (&x_rows)[TILES], u32 col,
                     u32 inputs) {
    _Pragma("unroll") for (u32 eighth = 0; eighth < CHUNK_COLS / 8; eighth++) {
        u32 a[4], b[4];
        widen(a, columns.upper[part], eighth), widen(b, columns.lower[part], eighth);
        _Pragma("unroll") for (u32 tile = 0; tile < TILES; tile++) {
            uint4 v = load_x(x, x_rows[tile] + col + eighth * 8, col, inputs);
            mma_bf16(sums[tile], a[0], b[0], a[1], b[1], v.x, v.y);
            mma_bf16(sums[tile], a[2], b[2], a[3], b[3], v.z, v.w);
        }
    }
}

KERNEL __launch_bounds__(256, 3) void linear_skinny(const void* x, const float* norm, const u8* weight, const float* scales,
                                                    const float* bias, Out* out, u32 rows, u32 outputs, u32 inputs, float eps) {
    u32 warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    // Index in K of this lane's next columns.
    u32 k = warp * SPAN + t * CHUNK_COLS;
    Rows next = rows_of(weight, scales, outputs, inputs, k);
    Columns columns = {};
    _Pragma("unroll") for (u32 i = 0; i < PARTS; i++) fetch(columns, next, i, k + i * 4 * CHUNK_COLS, inputs);
    fetch_scales(columns, next, warp * SPAN, inputs);
    grid_launch_dependents();
    grid_dependency_wait();

    bf16* shared = (bf16*)shared_memory();
    u32 stride = shared_stride(inputs);
    if (NORM) {
        stage_normed(shared, (float*)(shared + rows * stride), (const float*)x, norm, eps, rows, inputs);
    } else if (SHARED_X) {
        stage(shared, (const bf16*)x, rows, inputs);
    }
    if (NORM || SHARED_X) __syncthreads();
    // Rows that x lacks are read from its last row, and aren't stored.
    u32 x_rows[TILES];
    _Pragma("unroll") for (u32 i = 0; i < TILES; i++) x_rows[i] = min(i * 8 + g, rows - 1) * (NORM || SHARED_X ? stride : inputs);

    float c[TILES][4] = {};
    for (u32 first = warp * SPAN; first < inputs; first += STRIDE, k += STRIDE) {
        advance(next);
        float sums[TILES][4] = {};
        _Pragma("unroll") for (u32 i = 0; i < PARTS; i++) {
            u32 col = k + i * 4 * CHUNK_COLS;
            multiply(FP8 ? sums : c, columns, i, NORM || SHARED_X ? shared : (const bf16*)x, x_rows, col, inputs);
            fetch(columns, next, i, col + STRIDE, inputs);
        }
        if (FP8) {
            _Pragma("unroll") for (u32 i = 0; i < TILES * 4; i++) {
                c[i / 4][i % 4] += (i % 4 < 2 ? columns.upper_scale : columns.lower_scale) * sums[i / 4][i % 4];
            }
        }
        fetch_scales(columns, next, first + STRIDE, inputs);
    }

    if (NORM || SHARED_X) __syncthreads();
    float* sums = (float*)shared;
    _Pragma("unroll") for (u32 tile = 0; tile < TILES; tile++) {
        _Pragma("unroll") for (u32 i = 0; i < 4; i++) {
            u32 row = warp * TILES * 8 + tile * 8 + t * 2 + i % 2;
            sums[row * SUMS + g + i / 2 * 8] = c[tile][i];
        }
    }
    __syncthreads();
    finish(sums, bias, out, rows, outputs);
}
