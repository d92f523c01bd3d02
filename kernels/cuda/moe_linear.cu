// Linear layers of experts: out[row] = x[row] · weight[expert of row]ᵀ + bias, for rows that moe_align has brought together.
//
// A block of 4 warps computes TILE_M rows of one expert and 64 columns of the result; TILE_K of the inner dimension at a time go
// through shared memory, and the tensor cores multiply (mma.m16n8k16, f32 sums). While a step is multiplied the next one is
// loaded into registers. With few rows, where only the weights' bytes count, steps are longer: 16 kB of bf16 for a block. A block
// finds its rows from where the experts begin, so that the grid doesn't depend on the routes; blocks without rows end at once.
// Weights are read in their stored format (FORMAT) and converted to bf16 on the way into shared memory:
//   0: bf16 [experts, n, k].
//   1: MXFP4, with codes in the order of mxfp4.cuh. All products are bf16 exactly.
//   2: FP8 (fp8.cuh), with quantisation blocks of 32 columns or a greater power of two. Values are bf16 exactly; the sums of 32 columns
//      at a time are multiplied by their scale in f32.
// DOWN=0 reads the row of x of the route's token, and writes bf16 to the route's place in the order; DOWN=1 reads at the place,
// and writes f32 to the route's row. Bytes: an expert's weights once for each TILE_M of its rows.
// sass: moe_linear has HMMA\.16816\.F32\.BF16
// sass [FORMAT=0]: moe_linear has LDG\.E\.128
// sass [FORMAT=1]: moe_linear has LDG\.E\.128
// sass [FORMAT=2]: moe_linear has LDG\.E\.NA\.128
// sass [FORMAT=2]: moe_linear has H(FMA|MUL)2\.BF16

constexpr u32 TILE_N = 64, TILE_K = TILE_M == 16 ? 128 : 64, STRIDE = TILE_K + 8;
// Chunks of 16 bytes of weights and of x in a row of a tile, and chunks of a thread.
constexpr u32 W_ROW = TILE_K / CHUNK_COLS, X_ROW = TILE_K / 8;
constexpr u32 W_CHUNKS = TILE_N * W_ROW / 128, X_CHUNKS = TILE_M * X_ROW / 128;
// Columns whose products are added before the next ones; for FP8 one scale for each eight rows of the weight.
constexpr u32 GROUP = 32, SCALE_ROW = TILE_K / GROUP, SCALES = TILE_N / FP8_ROWS * SCALE_ROW;

struct Weights {
    const u8* codes;
    const void* scales;
    u32 n, k, block_shift;
};

DEVICE Chunk fetch(const Weights& w, u32 expert, u32 row, u32 col) {
    Chunk chunk = {make_uint4(0, 0, 0, 0), 0};
    if (row >= w.n || col >= w.k) return chunk;
    u64 at = (u64)(expert * w.n + row) * (w.k / CHUNK_COLS) + col / CHUNK_COLS;
    chunk.bits = load_weight(w.codes + at * 16);
    if (FORMAT == 1) chunk.scale = ((const u8*)w.scales)[at];
    return chunk;
}

// Scale of FP8 for a row and a column.
DEVICE float fetch_scale(const Weights& w, u32 expert, u32 row, u32 col) {
    if (row >= w.n || col >= w.k) return 0.0f;
    u32 blocks = ((w.k - 1) >> w.block_shift) + 1, at = (expert * w.n + row) / FP8_ROWS * blocks + (col >> w.block_shift);
    return ((const float*)w.scales)[at];
}

// Writes a chunk to shared memory as bf16.
DEVICE void store_chunk(bf16* to, const Chunk& chunk) {
    _Pragma("unroll") for (u32 step = 0; step < CHUNK_COLS / STEP; step++) {
        u32 pairs[STEP / 2];
        widen(pairs, chunk, step);
        _Pragma("unroll") for (u32 i = 0; i < STEP / 2; i += 4) {
            *(uint4*)(to + step * STEP + i * 2) = make_uint4(pairs[i], pairs[i + 1], pairs[i + 2], pairs[i + 3]);
        }
    }
}

// Adds sums over the columns of a scale, which each eight rows of the weight have for themselves.
DEVICE void add_scaled(float (&sums)[2][4], const float (&values)[2][4], const float* scales) {
    _Pragma("unroll") for (u32 i = 0; i < 8; i++) sums[i / 4][i % 4] += scales[i / 4 * SCALE_ROW] * values[i / 4][i % 4];
}

KERNEL __launch_bounds__(128) void moe_linear(const bf16* x, const u32* order, const u32* starts, const u8* codes,
                                              const void* scales, const float* bias, void* out, u32 n, u32 k, u32 experts,
                                              u32 per_token, u32 block_shift) {
    grid_launch_dependents();
    grid_dependency_wait();
    Tile tile = find_tile<TILE_M>(starts, experts, blockIdx.y);
    if (tile.first == tile.end) return;
    Weights weights = {codes, scales, n, k, block_shift};
    bf16* x_tile = (bf16*)shared_memory();
    bf16* w_tile = x_tile + TILE_M * STRIDE;
    float* scale_tile = (float*)(w_tile + TILE_N * STRIDE);
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, first_col = blockIdx.x * TILE_N;

    // Rows of x that this thread's chunks come from.
    const bf16* x_rows[X_CHUNKS];
    _Pragma("unroll") for (u32 i = 0; i < X_CHUNKS; i++) {
        u32 place = tile.first + (i * 128 + threadIdx.x) / X_ROW;
        x_rows[i] = place < tile.end ? x + (u64)(DOWN ? place : order[place] / per_token) * k : nullptr;
    }
    u32 w_col = threadIdx.x % W_ROW * CHUNK_COLS, x_col = threadIdx.x % X_ROW * 8;
    u32 w_row = first_col + threadIdx.x / W_ROW;
    u32 scale_row = first_col + threadIdx.x / SCALE_ROW * FP8_ROWS, scale_col = threadIdx.x % SCALE_ROW * GROUP;
    Chunk w_next[W_CHUNKS];
    uint4 x_next[X_CHUNKS];
    float scale_next = 0.0f;
    auto bring = [&](u32 from) {
        _Pragma("unroll") for (u32 i = 0; i < W_CHUNKS; i++) {
            w_next[i] = fetch(weights, tile.expert, w_row + i * (128 / W_ROW), from + w_col);
        }
        if (FORMAT == 2 && threadIdx.x < SCALES) scale_next = fetch_scale(weights, tile.expert, scale_row, from + scale_col);
        _Pragma("unroll") for (u32 i = 0; i < X_CHUNKS; i++) {
            x_next[i] = x_rows[i] && from + x_col < k ? *(const uint4*)(x_rows[i] + from + x_col) : make_uint4(0, 0, 0, 0);
        }
    };

    float sums[TILE_M / 16][2][4] = {};
    bring(0);
    for (u32 from = 0; from < k; from += TILE_K) {
        __syncthreads();
        _Pragma("unroll") for (u32 i = 0; i < W_CHUNKS; i++) {
            store_chunk(w_tile + (i * 128 + threadIdx.x) / W_ROW * STRIDE + w_col, w_next[i]);
        }
        if (FORMAT == 2 && threadIdx.x < SCALES) scale_tile[threadIdx.x] = scale_next;
        _Pragma("unroll") for (u32 i = 0; i < X_CHUNKS; i++) {
            *(uint4*)(x_tile + (i * 128 + threadIdx.x) / X_ROW * STRIDE + x_col) = x_next[i];
        }
        __syncthreads();
        if (from + TILE_K < k) bring(from + TILE_K);
        _Pragma("unroll") for (u32 group = 0; group < SCALE_ROW; group++) {
            u32 b[2][4];
            _Pragma("unroll") for (u32 i = 0; i < 2; i++) {
                u32 col = group * GROUP + i * 16 + lane / 8 % 2 * 8;
                ldmatrix_x4(b[i], w_tile + (warp * 16 + lane % 8 + lane / 16 * 8) * STRIDE + col);
            }
            _Pragma("unroll") for (u32 m = 0; m < TILE_M / 16; m++) {
                float values[2][4] = {};
                float(&to)[2][4] = FORMAT == 2 ? values : sums[m];
                _Pragma("unroll") for (u32 i = 0; i < 2; i++) {
                    u32 a[4];
                    ldmatrix_x4(a, x_tile + (m * 16 + lane % 16) * STRIDE + group * GROUP + i * 16 + lane / 16 * 8);
                    mma_bf16(to[0], a[0], a[1], a[2], a[3], b[i][0], b[i][1]);
                    mma_bf16(to[1], a[0], a[1], a[2], a[3], b[i][2], b[i][3]);
                }
                if (FORMAT == 2) add_scaled(sums[m], values, scale_tile + warp * 2 * SCALE_ROW + group);
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
