// Attention of many rows of a sequence, as prompts have them (softmax in one pass, as in FlashAttention-2; Dao 2023, arXiv:2307.08691).
//
// A block of 8 warps computes 128 consecutive rows of a sequence for one query head; a warp has 16 rows. Keys and values are read in KV
// blocks of 64 positions, whose layout in the cache is the one for shared memory (16-byte chunks swizzled, so that ldmatrix has no bank
// conflicts). While one KV block is multiplied the next one is copied (cp.async). Both products are mma.m16n8k16 with f32 sums; scores are
// in units of log2; weights are rounded to bf16 for the second product, their sums are not. A warp skips KV blocks that none of its rows
// sees, and masks only those that some row sees in part. Fuses everything from scores to results. Bytes: the sequence's keys and values
// once for each 128 rows and head, mostly from the second-level cache.
//
// tiles: for each tile {first row, number of rows, position of the first row, lane}.
// sass [HEAD_DIM=128]: attention_prefill has HMMA\.16816\.F32\.BF16
// sass [HEAD_DIM=128]: attention_prefill has LDGSTS

constexpr u32 ROWS = 128, TOKENS = 64, STEPS = HEAD_DIM / 16, TILE = TOKENS * HEAD_DIM;
constexpr float LOG2_E = 1.44269504f;

// State of a warp's 16 rows: queries and results; for rows g and g + 8 the largest score, and this lane's part of the sum of weights.
struct Rows {
    u32 query[STEPS][4];
    float most[2], sum[2], result[STEPS * 2][4];
};

// Begins to copy a KV block to shared memory; tokens behind the tile's last position are zero, whatever lies in the cache.
DEVICE void bring(bf16* to, const bf16* plane, u64 from, u32 tokens) {
    for (u32 chunk = threadIdx.x; chunk < TILE / 8; chunk += 256) {
        bool is_seen = chunk / (HEAD_DIM / 8) < tokens;
        cp_async16(to + chunk * 8, plane + from + chunk * 8, is_seen ? 16 : 0);
    }
}

DEVICE void score(float (&scores)[8][4], const Rows& rows, const bf16* keys) {
    u32 lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 pair = 0; pair < 4; pair++) {
        u32 token = pair * 16 + lane % 8 + lane / 16 * 8;
        _Pragma("unroll") for (u32 step = 0; step < STEPS; step++) {
            u32 b[4];
            const u32(&a)[4] = rows.query[step];
            ldmatrix_x4(b, keys + token * HEAD_DIM + kv_swizzle<HEAD_DIM>(token, step * 16 + lane / 8 % 2 * 8));
            mma_bf16(scores[pair * 2], a[0], a[1], a[2], a[3], b[0], b[1]);
            mma_bf16(scores[pair * 2 + 1], a[0], a[1], a[2], a[3], b[2], b[3]);
        }
    }
}

// Masks what a row doesn't see: positions after its own, and before its window.
DEVICE void mask(float (&scores)[8][4], u32 begin, u32 position, u32 window) {
    u32 lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 i = 0; i < 32; i++) {
        u32 key = begin + i / 4 * 8 + lane % 4 * 2 + i % 2, row = position + lane / 4 + i % 4 / 2 * 8;
        if (key > row || (window && key + window <= row)) scores[i / 4][i % 4] = MINUS_INFINITY;
    }
}

// Turns scores into weights, and scales earlier results to the new largest score.
DEVICE void weigh(float (&scores)[8][4], Rows& rows, float scale) {
    _Pragma("unroll") for (u32 half = 0; half < 2; half++) {
        float most = MINUS_INFINITY, sum = 0.0f;
        _Pragma("unroll") for (u32 i = 0; i < 16; i++) most = fmaxf(most, scores[i / 2][half * 2 + i % 2]);
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        most = fmaxf(rows.most[half], fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2)) * scale);
        // The largest score of a row that has seen nothing yet stays minus infinity.
        float base = most > MINUS_INFINITY ? most : 0.0f, factor = exp2f(rows.most[half] - base);
        _Pragma("unroll") for (u32 i = 0; i < 16; i++) {
            float& x = scores[i / 2][half * 2 + i % 2];
            x = exp2f(x * scale - base);
            sum += x;
        }
        rows.most[half] = most, rows.sum[half] = rows.sum[half] * factor + sum;
        _Pragma("unroll") for (u32 i = 0; i < STEPS * 2; i++) {
            rows.result[i][half * 2] *= factor, rows.result[i][half * 2 + 1] *= factor;
        }
    }
}

DEVICE void add(const float (&scores)[8][4], Rows& rows, const bf16* values) {
    u32 lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 part = 0; part < 4; part++) {
        const float(&left)[4] = scores[part * 2];
        const float(&right)[4] = scores[part * 2 + 1];
        u32 a0 = bf16_pair(left[0], left[1]), a1 = bf16_pair(left[2], left[3]);
        u32 a2 = bf16_pair(right[0], right[1]), a3 = bf16_pair(right[2], right[3]), token = part * 16 + lane % 16;
        _Pragma("unroll") for (u32 step = 0; step < STEPS; step++) {
            u32 b[4];
            ldmatrix_x4_trans(b, values + token * HEAD_DIM + kv_swizzle<HEAD_DIM>(token, step * 16 + lane / 16 * 8));
            mma_bf16(rows.result[step * 2], a0, a1, a2, a3, b[0], b[1]);
            mma_bf16(rows.result[step * 2 + 1], a0, a1, a2, a3, b[2], b[3]);
        }
    }
}

// Divides results by the sum of weights, and writes them. A sink is one more weight, without a value.
DEVICE void finish(Rows& rows, bf16* out, u32 count, u32 stride, float sink) {
    u32 lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    _Pragma("unroll") for (u32 half = 0; half < 2; half++) {
        float sum = rows.sum[half] + __shfl_xor_sync(0xffffffffu, rows.sum[half], 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        float most = fmaxf(rows.most[half], sink), factor = exp2f(rows.most[half] - most);
        factor = factor / (sum * factor + exp2f(sink - most));
        if (g + half * 8 >= count) continue;
        u32* to = (u32*)(out + (u64)(g + half * 8) * stride) + t;
        _Pragma("unroll") for (u32 i = 0; i < STEPS * 2; i++) {
            to[i * 4] = bf16_pair(rows.result[i][half * 2] * factor, rows.result[i][half * 2 + 1] * factor);
        }
    }
}

KERNEL __launch_bounds__(256, 1) void attention_prefill(const bf16* qkv, const bf16* keys, const bf16* values, const u32* tables,
                                                        const u32* lanes, const u32* positions, const float* sinks,
                                                        bf16* out, u32 all_rows, u32 heads, u32 kv_heads, u32 table_width,
                                                        u32 window, float scale, const uint4* tiles) {
    grid_launch_dependents();
    grid_dependency_wait();
    bf16* shared = (bf16*)shared_memory();
    uint4 tile = tiles[blockIdx.x];
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, head = blockIdx.y, kv_head = head / (heads / kv_heads);
    u32 own_row = tile.x + warp * 16, own_count = tile.y > warp * 16 ? tile.y - warp * 16 : 0, position = tile.z + warp * 16;
    u32 last = tile.z + tile.y - 1, first = window && tile.z >= window ? tile.z + 1 - window : 0;
    const u32* table = tables + (u64)tile.w * table_width;

    Rows rows = {{}, {MINUS_INFINITY, MINUS_INFINITY}, {0.0f, 0.0f}, {}};
    _Pragma("unroll") for (u32 i = 0; i < STEPS * 4; i++) {
        u32 row = lane / 4 + i % 2 * 8, dim = i / 4 * 16 + i % 4 / 2 * 8 + lane % 4 * 2;
        const bf16* query = qkv + ((u64)(own_row + row) * (heads + 2 * kv_heads) + head) * HEAD_DIM + dim;
        rows.query[i / 4][i % 4] = row < own_count ? *(const u32*)query : 0;
    }
    auto bring_block = [&](u32 at, u32 stage) {
        u64 from = kv_row<HEAD_DIM>(table[at] * 64, kv_head, kv_heads);
        u32 tokens = last + 1 - at * TOKENS;
        bring(shared + stage * 2 * TILE, keys, from, tokens);
        bring(shared + stage * 2 * TILE + TILE, values, from, tokens);
    };
    u32 first_block = first / TOKENS, end_block = last / TOKENS + 1;
    bring_block(first_block, 0);
    cp_async_commit();
    for (u32 at = first_block; at < end_block; at++) {
        u32 stage = (at - first_block) % 2, begin = at * TOKENS;
        if (at + 1 < end_block) bring_block(at + 1, stage ^ 1);
        cp_async_commit();
        cp_async_wait<1>();
        __syncthreads();
        bool sees_some = begin < position + 16 && own_count > 0 && !(window && begin + TOKENS + window <= position + 1);
        bool sees_all = begin + TOKENS <= position + 1 && !(window && begin + window < position + 16);
        if (sees_some) {
            float scores[8][4] = {};
            const bf16* block = shared + stage * 2 * TILE;
            score(scores, rows, block);
            if (!sees_all) mask(scores, begin, position, window);
            weigh(scores, rows, scale * LOG2_E);
            add(scores, rows, block + TILE);
        }
        __syncthreads();
    }
    float sink = sinks ? sinks[head] * LOG2_E : MINUS_INFINITY;
    if (own_count > 0) finish(rows, out + ((u64)own_row * heads + head) * HEAD_DIM, own_count, heads * HEAD_DIM, sink);
}
