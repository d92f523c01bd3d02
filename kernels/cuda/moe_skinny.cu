// Linear layers of experts as moe_linear.cu has them, for few rows of each expert, where the time is that of reading the weights.
//
// A block computes TILE_N columns of the result for at most 16 rows of one expert; its 4 warps divide K among them, 128 columns at a
// time. As in linear_skinny.cu a weight's 16 bytes go from memory to registers to tensor cores: a lane has rows g and g + 8 (g =
// lane / 4) of each 16 rows of the weight (a band), of each row the 16 bytes at t = lane % 4 of 64. They are operand A of
// mma.m16n8k16: two mma of bf16 as loaded (FORMAT 0, 8 columns), eight of MXFP4 behind mxfp4.cuh (FORMAT 1, 32 columns with one
// scale), four of FP8 behind fp8.cuh (FORMAT 2, 16 columns; the sums of 64 columns are scaled in f32). This permutes K, which doesn't
// matter since operand B, eight rows of x, is permuted alike. Each lane has 8 loads of 16 bytes under way, the first as soon as the
// expert is known. x comes from the caches: with few rows it is small, and all blocks of an expert read the same. Rows of x that a tile
// lacks are read from its last row, and aren't stored; columns behind K are read from the last ones, and multiplied by weights or scales
// of zero. At the end the warps' sums are added in order.
//
// FP8 has quantisation blocks of 128 columns: those that a warp takes at a time, so a scale is found without a division. K is a multiple
// of 64 columns, which all lanes of a row have together, so these lanes all have a scale or all have none.
// DOWN and the grid are moe_linear's. Bytes: an expert's weights once for each 16 of its rows; x once for each block, from caches.
// sass: moe_skinny has LDG\.E\.NA\.128
// sass: moe_skinny has HMMA\.16816\.F32\.BF16
// sass: moe_skinny lacks LDG\.E\.U16
// sass [FORMAT=1]: moe_skinny has H(FMA|MUL)2\.BF16
// sass [FORMAT=2]: moe_skinny has H(FMA|MUL)2\.BF16

// Rows of x in a tile, warps of a block, and its bands.
constexpr u32 TILE_M = 16, WARPS = 4, BANDS = FORMAT == 0 ? 1 : 2, TILE_N = 16 * BANDS;
// Columns of the four lanes of a row, and of a warp's before those of the next warp.
constexpr u32 PART_COLS = 4 * CHUNK_COLS, SPAN = 128;
// Columns of a scale, and its bytes.
constexpr u32 SCALE_COLS = FORMAT == 2 ? 128 : 32, SCALE_BYTES = FORMAT == 2 ? 4 : 1;
// Parts of each row that a lane has under way; columns that a block has under way.
constexpr u32 PARTS = 4 / BANDS, STRIDE = WARPS * PARTS * PART_COLS;
// Floats from the sums of a row of x to those of the next row.
constexpr u32 SUMS = TILE_N + 4;

// A lane's chunks of rows g and g + 8 of each band.
struct Part {
    Chunk upper[BANDS], lower[BANDS];
};

// A row of the weight, from the lane's next columns on.
struct Row {
    const u8 *codes, *scales;
};

struct Rows {
    Row upper[BANDS], lower[BANDS];
};

// Columns from a lane's first part to part i.
DEVICE constexpr u32 part_offset(u32 i) {
    constexpr u32 parts = SPAN / PART_COLS;
    return i / parts * WARPS * SPAN + i % parts * PART_COLS;
}

DEVICE void fetch(Chunk& chunk, const Row& row, u32 offset, bool inside) {
    if (FORMAT == 0) {
        chunk.bits = load_weight_if(row.codes + offset / CHUNK_COLS * 16, inside);
    } else {
        // Codes without a scale, or their sums, are multiplied by zero.
        load_weight_into(chunk.bits, row.codes + offset / CHUNK_COLS * 16, inside);
        const u8* scale = row.scales + offset / SCALE_COLS * SCALE_BYTES;
        if (FORMAT == 1) {
            chunk.scale = inside ? *scale : MXFP4_NO_SCALE;
        } else {
            chunk.scale = inside ? *(const u32*)scale : 0;
        }
    }
}

DEVICE void fetch(Part& part, const Rows& rows, u32 offset, bool inside) {
    _Pragma("unroll") for (u32 i = 0; i < BANDS; i++) {
        fetch(part.upper[i], rows.upper[i], offset, inside), fetch(part.lower[i], rows.lower[i], offset, inside);
    }
}

DEVICE void advance(Row& row) {
    row.codes += STRIDE / CHUNK_COLS * 16, row.scales += STRIDE / SCALE_COLS * SCALE_BYTES;
}

// Adds the products of a part with Tiles times eight rows of x, from column `at` on; `x_rows` are indexes in x. Scales of FP8 aren't
// included.
template <u32 Tiles>
DEVICE void multiply_values(float (&sums)[BANDS][2][4], const Part& part, const bf16* x, const u32 (&x_rows)[2], u32 at) {
    _Pragma("unroll") for (u32 step = 0; step < CHUNK_COLS / STEP; step++) {
        uint4 v[Tiles][STEP / 8];
        _Pragma("unroll") for (u32 tile = 0; tile < Tiles; tile++) {
            const uint4* from = (const uint4*)(x + (x_rows[tile] + at)) + step * (STEP / 8);
            _Pragma("unroll") for (u32 i = 0; i < STEP / 8; i++) v[tile][i] = from[i];
        }
        _Pragma("unroll") for (u32 band = 0; band < BANDS; band++) {
            u32 a[STEP / 2], b[STEP / 2];
            widen(a, part.upper[band], step), widen(b, part.lower[band], step);
            _Pragma("unroll") for (u32 tile = 0; tile < Tiles; tile++) {
                _Pragma("unroll") for (u32 i = 0; i < STEP / 8; i++) {
                    const u32 *p = a + 4 * i, *q = b + 4 * i;
                    mma_bf16(sums[band][tile], p[0], q[0], p[1], q[1], v[tile][i].x, v[tile][i].y);
                    mma_bf16(sums[band][tile], p[2], q[2], p[3], q[3], v[tile][i].z, v[tile][i].w);
                }
            }
        }
    }
}

// Adds the products of a part as multiply_values does, with the scales of FP8.
template <u32 Tiles>
DEVICE void multiply(float (&sums)[BANDS][2][4], const Part& part, const bf16* x, const u32 (&x_rows)[2], u32 at) {
    if (FORMAT != 2) return multiply_values<Tiles>(sums, part, x, x_rows, at);
    float values[BANDS][2][4] = {};
    multiply_values<Tiles>(values, part, x, x_rows, at);
    _Pragma("unroll") for (u32 i = 0; i < BANDS * Tiles * 4; i++) {
        u32 band = i / 4 / Tiles, tile = i / 4 % Tiles;
        float scale = __uint_as_float((i % 4 < 2 ? part.upper : part.lower)[band].scale);
        sums[band][tile][i % 4] += scale * values[band][tile][i % 4];
    }
}

// Adds the products of this warp's columns, of which the lane's begin at `col`; `parts` are the first ones. Conditions of loops are
// the same for all threads, so that the compiler needn't bring lanes together again.
template <u32 Tiles>
DEVICE void accumulate(float (&sums)[BANDS][2][4], Part (&parts)[PARTS], Rows& rows, const bf16* x,
                       const u32 (&x_rows)[2], u32 col, u32 k) {
    for (u32 begin = 0; begin < k; begin += STRIDE, col += STRIDE) {
        _Pragma("unroll") for (u32 i = 0; i < BANDS; i++) advance(rows.upper[i]), advance(rows.lower[i]);
        _Pragma("unroll") for (u32 i = 0; i < PARTS; i++) {
            if (begin + part_offset(i) >= k) break;
            u32 at = col + part_offset(i);
            multiply<Tiles>(sums, parts[i], x, x_rows, min(at, k - CHUNK_COLS));
            if (begin + STRIDE + part_offset(i) < k) fetch(parts[i], rows, part_offset(i), at + STRIDE < k);
        }
    }
}

// Adds the warps' sums in order, and stores those of all rows of the tile.
DEVICE void finish(const float* sums, const Tile& tile, const u32* order, const float* bias, void* out, u32 n) {
    for (u32 i = threadIdx.x; i < (tile.end - tile.first) * TILE_N; i += WARPS * 32) {
        u32 row = i / TILE_N, place = tile.first + row, col = blockIdx.x * TILE_N + i % TILE_N;
        if (col >= n) continue;
        float y = bias ? bias[(u64)tile.expert * n + col] : 0.0f;
        _Pragma("unroll") for (u32 warp = 0; warp < WARPS; warp++) y += sums[(warp * TILE_M + row) * SUMS + i % TILE_N];
        if (DOWN) {
            ((float*)out)[(u64)order[place] * n + col] = y;
        } else {
            ((bf16*)out)[(u64)place * n + col] = bf16_of(y);
        }
    }
}

KERNEL __launch_bounds__(128, 4) void moe_skinny(const bf16* x, const u32* order, const u32* starts, const u8* codes,
                                                 const u8* scales, const float* bias, void* out, u32 n, u32 k, u32 experts,
                                                 u32 per_token) {
    grid_launch_dependents();
    grid_dependency_wait();
    Tile tile = find_tile<TILE_M>(starts, experts, blockIdx.y);
    if (tile.first == tile.end) return;
    u32 warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, col = warp * SPAN + t * CHUNK_COLS;
    auto row_at = [&](u32 row) {
        u32 index = tile.expert * n + min(blockIdx.x * TILE_N + row, n - 1), chunk = index * (k / CHUNK_COLS) + col / CHUNK_COLS;
        u32 scale = FORMAT == 2 ? index / FP8_ROWS * ((k + SCALE_COLS - 1) / SCALE_COLS) + col / SCALE_COLS : chunk;
        return Row{codes + (u64)chunk * 16, scales + scale * SCALE_BYTES};
    };
    Rows rows;
    _Pragma("unroll") for (u32 i = 0; i < BANDS; i++) rows.upper[i] = row_at(i * 16 + g), rows.lower[i] = row_at(i * 16 + 8 + g);
    Part parts[PARTS] = {};
    _Pragma("unroll") for (u32 i = 0; i < PARTS; i++) fetch(parts[i], rows, part_offset(i), col + part_offset(i) < k);

    u32 x_rows[2];
    _Pragma("unroll") for (u32 i = 0; i < 2; i++) {
        u32 place = min(tile.first + i * 8 + g, tile.end - 1);
        x_rows[i] = (DOWN ? place : order[place] / per_token) * k;
    }
    float c[BANDS][2][4] = {};
    if (tile.end - tile.first > 8) {
        accumulate<2>(c, parts, rows, x, x_rows, col, k);
    } else {
        accumulate<1>(c, parts, rows, x, x_rows, col, k);
    }
    float* sums = (float*)shared_memory();
    _Pragma("unroll") for (u32 i = 0; i < 8 * BANDS; i++) {
        u32 row = warp * TILE_M + i / 4 % 2 * 8 + t * 2 + i % 2;
        sums[row * SUMS + i / 8 * 16 + i / 2 % 2 * 8 + g] = c[i / 8][i / 4 % 2][i % 4];
    }
    __syncthreads();
    finish(sums, tile, order, bias, out, n);
}
