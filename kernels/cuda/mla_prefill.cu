// Attention of many rows of a sequence over a compressed cache, as prompts have them: the scores and results of mla_attention.cu, with the
// softmax in one pass as in attention_prefill.cu (FlashAttention-2; Dao 2023, arXiv:2307.08691).
//
// All heads of a token read the same cached rows, so a row of the products is a pair of a token and a head. A sequence's pairs are
// consecutive in memory; a block of 8 warps computes 64 of them: pairs of a few tokens where heads are few, a part of a token's pairs
// where they are many. Cached rows are copied to shared memory TOKENS at a time (cp.async, three stages, 16-byte chunks swizzled) and used
// twice, as keys and as values; both products are mma.m16n8k16 with f32 sums. A warp has 32 pairs. For scores it has a quarter of the
// columns, so that its queries stay in registers: in shared memory they would be read again for every tile, as much as the tile itself.
// The four parts of a score go through shared memory, where four threads for each pair add them, mask them, and make weights: rounded to
// bf16 for the second product, their sums are not. For results a warp has a quarter of the columns. Results of one tile and scores of the
// next one come between the same barriers, so tensor cores wait for the weights alone. Fuses everything from scores to results. Bytes: the
// sequence's cached rows once for each 64 pairs, mostly from the second-level cache.
//
// A pair's numbers don't depend on what else is in its block: tiles of cached rows begin at multiples of TOKENS, and to a pair that sees
// none of a tile's rows the tile adds zeros. Blocks with most cached rows begin first.
//
// work: for each tile of tokens {first row, number of rows, position of the first row, lane}; a tile has gridDim.y blocks.
// sass [RANK=512]: mla_prefill has HMMA\.16816\.F32\.BF16
// sass [RANK=512]: mla_prefill has LDGSTS
// sass [RANK=512]: mla_prefill has LDSM\.16\.MT88\.4

constexpr u32 WIDTH = RANK + ROPE, STEPS = WIDTH / 16, OWN_STEPS = (STEPS + 3) / 4, OWN_COLUMNS = RANK / 64, PAIRS = 64;
constexpr u32 TILE = TOKENS * WIDTH, STRIDE = TOKENS + 8, SCORES = PAIRS * STRIDE;
constexpr float LOG2_E = 1.44269504f;

// Operands and sums of a warp: 32 pairs as two halves of 16. Of four warps with the same pairs, warp w has steps w, w + 4 and so on of the
// scores, and of each 64 columns of the results those from 16 * w on.
struct WarpPairs {
    u32 query[OWN_STEPS][2][4];
    float result[OWN_COLUMNS][2][2][4];
};

// State of a pair's softmax: the largest score, and the sum of the thread's quarter of the weights.
struct PairSoftmax {
    float most, sum;
};

// The block's pairs, numbered from the step's first pair on.
struct BlockPairs {
    u64 first;
    u32 count;
};

DEVICE BlockPairs block_pairs(const uint4& tile, u32 heads) {
    u32 begin = blockIdx.y * PAIRS, end = tile.y * heads;
    return {(u64)tile.x * heads + begin, begin < end ? min(PAIRS, end - begin) : 0};
}

DEVICE void load_queries(WarpPairs& pairs, const bf16* queries, u32 count) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 i = 0; i < OWN_STEPS * 8; i++) {
        u32 step = warp % 4 + i / 8 * 4, pair = warp / 4 * 32 + i / 4 % 2 * 16 + i % 2 * 8 + lane / 4;
        u32 col = step * 16 + i / 2 % 2 * 8 + lane % 4 * 2;
        bool is_there = pair < count && step < STEPS;
        pairs.query[i / 8][i / 4 % 2][i % 4] = is_there ? *(const u32*)(queries + pair * WIDTH + col) : 0;
    }
}

// Writes the warp's part of the scores of a tile.
DEVICE void score(float* scores, const WarpPairs& pairs, const bf16* tile) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, token = lane % 8 + lane / 16 * 8;
    const bf16* keys = tile + token * WIDTH + kv_swizzle<WIDTH>(token, warp % 4 * 16 + lane / 8 % 2 * 8);
    float* to = scores + warp % 4 * SCORES + (warp / 4 * 32 + lane / 4) * STRIDE + lane % 4 * 2;
    // Unrolled it would need more registers than there are.
    _Pragma("unroll 1") for (u32 from = 0; from < TOKENS; from += 16) {
        float sums[2][2][4] = {};
        _Pragma("unroll") for (u32 step = 0; step < OWN_STEPS; step++) {
            if (warp % 4 + step * 4 >= STEPS) break;
            u32 b[4];
            ldmatrix_x4(b, keys + from * WIDTH + step * 64);
            _Pragma("unroll") for (u32 half = 0; half < 2; half++) {
                const u32(&a)[4] = pairs.query[step][half];
                mma_bf16(sums[half][0], a[0], a[1], a[2], a[3], b[0], b[1]);
                mma_bf16(sums[half][1], a[0], a[1], a[2], a[3], b[2], b[3]);
            }
        }
        _Pragma("unroll") for (u32 i = 0; i < 8; i++) {
            const float(&c)[4] = sums[i / 4][i % 2];
            float2 two = make_float2(c[i / 2 % 2 * 2], c[i / 2 % 2 * 2 + 1]);
            *(float2*)(to + i / 2 * 8 * STRIDE + from + i % 2 * 8) = two;
        }
    }
}

// Turns scores of a tile into weights. Of a tile, the thread's pair sees the first `seen` rows. Sets the factors of earlier results.
DEVICE void weigh(PairSoftmax& all, const float* scores, bf16* weights, float* factors, u32 seen, float scale) {
    // In this order of columns neighbouring threads read all banks of shared memory.
    u32 pair = threadIdx.x / 4, first = threadIdx.x % 2 * 4 + threadIdx.x / 2 % 2 * (TOKENS / 2);
    const float* own = scores + pair * STRIDE + first;
    bf16* to = weights + pair * STRIDE + first;
    float x[TOKENS / 4], most = MINUS_INFINITY, sum = 0.0f;
    _Pragma("unroll") for (u32 i = 0; i < TOKENS / 4; i += 4) {
        Floats<4> total = load<4>(own + i * 2);
        _Pragma("unroll") for (u32 part = 1; part < 4; part++) {
            Floats<4> more = load<4>(own + part * SCORES + i * 2);
            _Pragma("unroll") for (u32 j = 0; j < 4; j++) total.at[j] += more.at[j];
        }
        _Pragma("unroll") for (u32 j = 0; j < 4; j++) {
            x[i + j] = first + i * 2 + j < seen ? total.at[j] : MINUS_INFINITY;
            most = fmaxf(most, x[i + j]);
        }
    }
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
    // A number from the first tile on, since every pair sees position 0.
    most = fmaxf(all.most, fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2)) * scale);
    float factor = exp2f(all.most - most);
    _Pragma("unroll") for (u32 i = 0; i < TOKENS / 4; i++) x[i] = exp2f(x[i] * scale - most), sum += x[i];
    all.most = most, all.sum = all.sum * factor + sum;
    _Pragma("unroll") for (u32 i = 0; i < TOKENS / 4; i += 4) {
        *(uint2*)(to + i * 2) = make_uint2(bf16_pair(x[i], x[i + 1]), bf16_pair(x[i + 2], x[i + 3]));
    }
    if (first == 0) factors[pair] = factor;
}

// Factors of the pairs that the thread has in its warp's products: pairs g, g + 8, g + 16 and g + 24.
DEVICE Floats<4> own_factors(const float* factors) {
    const float* own = factors + threadIdx.x / 128 * 32 + threadIdx.x % 32 / 4;
    return {own[0], own[8], own[16], own[24]};
}

DEVICE void multiply(WarpPairs& pairs, const Floats<4>& factors) {
    _Pragma("unroll") for (u32 i = 0; i < OWN_COLUMNS * 16; i++) {
        pairs.result[i / 16][i / 8 % 2][i / 4 % 2][i % 4] *= factors.at[i / 8 % 2 * 2 + i % 4 / 2];
    }
}

// Adds the values of a tile to the results, which are scaled to the new largest score before.
DEVICE void add(WarpPairs& pairs, const bf16* tile, const bf16* weights, const float* factors) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bf16* values = tile + lane % 16 * WIDTH + kv_swizzle<WIDTH>(lane % 16, warp % 4 * 16 + lane / 16 * 8);
    const bf16* own = weights + (warp / 4 * 32 + lane % 16) * STRIDE + lane / 16 * 8;
    Floats<4> factor = own_factors(factors);
    bool is_larger = factor.at[0] != 1.0f || factor.at[1] != 1.0f || factor.at[2] != 1.0f || factor.at[3] != 1.0f;
    // The whole warp goes one way, since it multiplies matrices behind the branch.
    if (__any_sync(0xffffffffu, is_larger)) multiply(pairs, factor);
    _Pragma("unroll") for (u32 from = 0; from < TOKENS; from += 16) {
        u32 a[2][4];
        ldmatrix_x4(a[0], own + from);
        ldmatrix_x4(a[1], own + 16 * STRIDE + from);
        _Pragma("unroll") for (u32 part = 0; part < OWN_COLUMNS; part++) {
            u32 b[4];
            ldmatrix_x4_trans(b, values + from * WIDTH + part * 64);
            _Pragma("unroll") for (u32 half = 0; half < 2; half++) {
                mma_bf16(pairs.result[part][half][0], a[half][0], a[half][1], a[half][2], a[half][3], b[0], b[1]);
                mma_bf16(pairs.result[part][half][1], a[half][0], a[half][1], a[half][2], a[half][3], b[2], b[3]);
            }
        }
    }
}

// Divides results by the sums of weights, and writes them.
DEVICE void finish(WarpPairs& pairs, const PairSoftmax& all, float* factors, bf16* out, u32 count) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = all.sum + __shfl_xor_sync(0xffffffffu, all.sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    __syncthreads();
    if (threadIdx.x % 4 == 0) factors[threadIdx.x / 4] = 1.0f / sum;
    __syncthreads();
    multiply(pairs, own_factors(factors));
    _Pragma("unroll") for (u32 i = 0; i < 4; i++) {
        u32 pair = warp / 4 * 32 + i * 8 + lane / 4;
        if (pair >= count) continue;
        bf16* to = out + pair * RANK + warp % 4 * 16 + lane % 4 * 2;
        _Pragma("unroll") for (u32 part = 0; part < OWN_COLUMNS * 2; part++) {
            const float(&c)[4] = pairs.result[part / 2][i / 2][part % 2];
            *(u32*)(to + part / 2 * 64 + part % 2 * 8) = bf16_pair(c[i % 2 * 2], c[i % 2 * 2 + 1]);
        }
    }
}

KERNEL __launch_bounds__(256, 1) void mla_prefill(const bf16* queries, const bf16* cache, const u32* tables, const u32* lanes,
                                                  const u32* positions, bf16* out, u32 all_rows, u32 heads, u32 table_width,
                                                  float scale, const uint4* work) {
    grid_launch_dependents();
    grid_dependency_wait();
    bf16* tiles = (bf16*)shared_memory();
    float* scores = (float*)(tiles + 3 * TILE);
    bf16* weights = (bf16*)(scores + 4 * SCORES);
    float* factors = (float*)(weights + PAIRS * STRIDE);
    uint4 item = work[gridDim.x - 1 - blockIdx.x];
    BlockPairs own = block_pairs(item, heads);
    if (own.count == 0) return;
    u32 last = item.z + (blockIdx.y * PAIRS + own.count - 1) / heads;
    u32 position = item.z + (blockIdx.y * PAIRS + min(threadIdx.x / 4, own.count - 1)) / heads;
    u32 table = item.w * table_width;

    copy_cached<8, TOKENS, WIDTH>(tiles, cache, tables[table], 0, last);
    cp_async_commit();
    WarpPairs pairs = {};
    load_queries(pairs, queries + own.first * WIDTH, own.count);
    PairSoftmax all = {MINUS_INFINITY, 0.0f};
    // KV block of the tile that is copied next, read a tile earlier, since the copy would wait for it.
    u32 block = tables[table + min((u32)TOKENS, last) / 64], stage = 0;
    for (u32 begin = 0;; begin += TOKENS) {
        cp_async_wait<0>();
        __syncthreads();
        u32 next = begin + TOKENS, after = stage == 2 ? 0 : stage + 1;
        if (next <= last) {
            copy_cached<8, TOKENS, WIDTH>(tiles + after * TILE, cache, block, next, last);
            block = tables[table + min(next + TOKENS, last) / 64];
        }
        cp_async_commit();
        if (begin > 0) add(pairs, tiles + (stage == 0 ? 2 : stage - 1) * TILE, weights, factors);
        if (begin > last) break;
        score(scores, pairs, tiles + stage * TILE);
        __syncthreads();
        weigh(all, scores, weights, factors, position + 1 > begin ? position + 1 - begin : 0, scale * LOG2_E);
        stage = after;
    }
    // Computed again, since registers are short meanwhile.
    own = block_pairs(work[gridDim.x - 1 - blockIdx.x], heads);
    finish(pairs, all, factors, out + own.first * RANK, own.count);
}
