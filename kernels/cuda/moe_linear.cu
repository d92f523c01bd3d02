// Linear layers of experts: out[row] = x[row] · weight[expert of row]ᵀ + bias, for rows that moe_align has brought together.
//
// A block of 4 warps computes TILE_M rows of one expert and 64 columns of the result; TILE_K of the inner dimension at a time go
// through shared memory, and the tensor cores multiply (mma.m16n8k16, f32 sums). While a step is multiplied the next one is
// loaded into registers. With few rows, where only the weights' bytes count, steps are longer: 16 kB of bf16 for a block. A block
// finds its rows from where the experts begin, so that the grid doesn't depend on the routes; blocks without rows end at once.
// Weights are read in their stored format (FORMAT) and converted to bf16 on the way into shared memory:
//   0: bf16 [experts, n, k].
//   1: MXFP4, with codes in the order of mxfp4.cuh. All products are bf16 exactly.
//   2: FP8: E4M3 codes (OCP 8-bit Floating Point v1.0), an f32 scale for each block of rows and columns; products are rounded to bf16.
// DOWN=0 reads the row of x of the route's token, and writes bf16 to the route's place in the order; DOWN=1 reads at the place,
// and writes f32 to the route's row. Bytes: an expert's weights once for each TILE_M of its rows.
// sass: moe_linear has HMMA\.16816\.F32\.BF16
// sass [FORMAT=0]: moe_linear has LDG\.E\.128
// sass [FORMAT=1]: moe_linear has LDG\.E\.128

constexpr u32 TILE_N = 64, TILE_K = TILE_M == 16 ? 128 : 64, STRIDE = TILE_K + 8;
// Weights that a thread loads at once, 16 bytes or 8; chunks of weights and of x in a row of a tile, and chunks of a thread.
constexpr u32 ELEMENTS = FORMAT == 1 ? 32 : 8, W_ROW = TILE_K / ELEMENTS, X_ROW = TILE_K / 8;
constexpr u32 W_CHUNKS = TILE_N * W_ROW / 128, X_CHUNKS = TILE_M * X_ROW / 128;

struct Weights {
    const u8* codes;
    const void* scales;
    u32 n, k, block_n, block_k, part_rows;
};

// Neighbouring weights in their stored format, and their scale: for MXFP4 its byte, for FP8 an f32's bits.
struct Chunk {
    uint4 bits;
    u32 scale;
};

DEVICE float e4m3(u32 code) {
    return __uint_as_float((code & 0x7f) << 20 | (code & 0x80) << 24) * 0x1p120f;
}

// Index of the first scale of a row, for FP8. Each of the stacked matrices has quantisation blocks of its own.
DEVICE u32 scales_of(const Weights& w, u32 expert, u32 row) {
    if (FORMAT != 2 || row >= w.n) return 0;
    u32 part_blocks = (w.part_rows + w.block_n - 1) / w.block_n, row_blocks = w.n / w.part_rows * part_blocks;
    u32 block = row / w.part_rows * part_blocks + row % w.part_rows / w.block_n;
    return (expert * row_blocks + block) * ((w.k + w.block_k - 1) / w.block_k);
}

DEVICE Chunk fetch(const Weights& w, u32 expert, u32 row, u32 scales, u32 col) {
    Chunk chunk = {make_uint4(0, 0, 0, 0), 0};
    if (row >= w.n || col >= w.k) return chunk;
    u64 at = ((u64)expert * w.n + row) * w.k + col;
    if (FORMAT == 0) {
        chunk.bits = load_weight(w.codes + at * 2);
    } else if (FORMAT == 1) {
        chunk.bits = load_weight(w.codes + at / 2);
        chunk.scale = ((const u8*)w.scales)[at / 32];
    } else {
        uint2 codes = *(const uint2*)(w.codes + at);
        chunk.bits.x = codes.x, chunk.bits.y = codes.y;
        chunk.scale = ((const u32*)w.scales)[scales + col / w.block_k];
    }
    return chunk;
}

// Writes a chunk to shared memory as bf16.
DEVICE void widen(bf16* to, const Chunk& chunk) {
    if constexpr (FORMAT == 0) {
        *(uint4*)to = chunk.bits;
    } else if constexpr (FORMAT == 1) {
        u32 pairs[2][8], factor = mxfp4_factor(chunk.scale);
        unpack_mxfp4(pairs[0], chunk.bits.x, chunk.bits.y, factor), unpack_mxfp4(pairs[1], chunk.bits.z, chunk.bits.w, factor);
        _Pragma("unroll") for (u32 i = 0; i < 4; i++) {
            const u32* p = pairs[i / 2] + i % 2 * 4;
            ((uint4*)to)[i] = make_uint4(p[0], p[1], p[2], p[3]);
        }
    } else {
        u32 words[2] = {chunk.bits.x, chunk.bits.y};
        Floats<8> v;
        _Pragma("unroll") for (u32 i = 0; i < 8; i++) v.at[i] = e4m3(words[i / 4] >> 8 * (i % 4)) * __uint_as_float(chunk.scale);
        store(to, v);
    }
}

KERNEL __launch_bounds__(128) void moe_linear(const bf16* x, const u32* order, const u32* starts, const u8* codes,
                                              const void* scales, const float* bias, void* out, u32 n, u32 k, u32 experts,
                                              u32 per_token, u32 block_n, u32 block_k, u32 part_rows) {
    grid_launch_dependents();
    grid_dependency_wait();
    Tile tile = find_tile<TILE_M>(starts, experts, blockIdx.y);
    if (tile.first == tile.end) return;
    Weights weights = {codes, scales, n, k, block_n, block_k, part_rows};
    bf16* x_tile = (bf16*)shared_memory();
    bf16* w_tile = x_tile + TILE_M * STRIDE;
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, first_col = blockIdx.x * TILE_N;

    // Rows of x that this thread's chunks come from.
    const bf16* x_rows[X_CHUNKS];
    _Pragma("unroll") for (u32 i = 0; i < X_CHUNKS; i++) {
        u32 place = tile.first + (i * 128 + threadIdx.x) / X_ROW;
        x_rows[i] = place < tile.end ? x + (u64)(DOWN ? place : order[place] / per_token) * k : nullptr;
    }
    u32 w_col = threadIdx.x % W_ROW * ELEMENTS, x_col = threadIdx.x % X_ROW * 8;
    u32 w_rows[W_CHUNKS], scales_at[W_CHUNKS];
    _Pragma("unroll") for (u32 i = 0; i < W_CHUNKS; i++) {
        w_rows[i] = first_col + (i * 128 + threadIdx.x) / W_ROW;
        scales_at[i] = scales_of(weights, tile.expert, w_rows[i]);
    }
    Chunk w_next[W_CHUNKS];
    uint4 x_next[X_CHUNKS];
    auto bring = [&](u32 from) {
        _Pragma("unroll") for (u32 i = 0; i < W_CHUNKS; i++) {
            w_next[i] = fetch(weights, tile.expert, w_rows[i], scales_at[i], from + w_col);
        }
        _Pragma("unroll") for (u32 i = 0; i < X_CHUNKS; i++) {
            x_next[i] = x_rows[i] && from + x_col < k ? *(const uint4*)(x_rows[i] + from + x_col) : make_uint4(0, 0, 0, 0);
        }
    };

    float sums[TILE_M / 16][2][4] = {};
    bring(0);
    for (u32 from = 0; from < k; from += TILE_K) {
        __syncthreads();
        _Pragma("unroll") for (u32 i = 0; i < W_CHUNKS; i++) {
            widen(w_tile + (i * 128 + threadIdx.x) / W_ROW * STRIDE + w_col, w_next[i]);
        }
        _Pragma("unroll") for (u32 i = 0; i < X_CHUNKS; i++) {
            *(uint4*)(x_tile + (i * 128 + threadIdx.x) / X_ROW * STRIDE + x_col) = x_next[i];
        }
        __syncthreads();
        if (from + TILE_K < k) bring(from + TILE_K);
        _Pragma("unroll") for (u32 step = 0; step < TILE_K; step += 16) {
            u32 b[4];
            ldmatrix_x4(b, w_tile + (warp * 16 + lane % 8 + lane / 16 * 8) * STRIDE + step + lane / 8 % 2 * 8);
            _Pragma("unroll") for (u32 m = 0; m < TILE_M / 16; m++) {
                u32 a[4];
                ldmatrix_x4(a, x_tile + (m * 16 + lane % 16) * STRIDE + step + lane / 16 * 8);
                mma_bf16(sums[m][0], a[0], a[1], a[2], a[3], b[0], b[1]);
                mma_bf16(sums[m][1], a[0], a[1], a[2], a[3], b[2], b[3]);
            }
        }
    }

    _Pragma("unroll") for (u32 m = 0; m < TILE_M / 16; m++) {
        _Pragma("unroll") for (u32 half = 0; half < 2; half++) {
            u32 place = tile.first + m * 16 + half * 8 + lane / 4;
            if (place >= tile.end) continue;
            u64 row = (u64)(DOWN ? order[place] : place) * n;
            _Pragma("unroll") for (u32 part = 0; part < 2; part++) {
                u32 col = first_col + warp * 16 + part * 8 + lane % 4 * 2;
                if (col >= n) continue;
                float2 pair = make_float2(sums[m][part][2 * half], sums[m][part][2 * half + 1]);
                if (bias) pair.x += bias[(u64)tile.expert * n + col], pair.y += bias[(u64)tile.expert * n + col + 1];
                if (DOWN) {
                    *(float2*)((float*)out + row + col) = pair;
                } else {
                    *(u32*)((bf16*)out + row + col) = bf16_pair(pair.x, pair.y);
                }
            }
        }
    }
}
