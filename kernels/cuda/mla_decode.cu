// Attention over a compressed cache for rows that decode: the scores and results of mla_attention.cu, with a row's positions divided among
// blocks of the grid as in attention_decode.cu (the same list of spans, and the same combination of partial results).
//
// A block of 4 warps computes a span of 256 positions for 16 heads of a row, the rows of mma.m16n8k16. 32 cached rows at a time are copied
// to shared memory (cp.async, two stages, 16-byte chunks swizzled) and used twice: as keys, of which each warp scores eight, and as values,
// of which each warp has a quarter of the columns. Scores go through shared memory, and every warp computes the same weights from them.
// Weights are rounded to bf16 for the product, their sums are not. Bytes: a cached row once for each 16 heads; of each span's partial
// result 4 for each value, written and read.
//
// partials: [items, groups of 16 heads, 16, RANK + 2] f32. counters: one for each row and group of heads, zero before and after the launch.
// sass: mla_decode has HMMA\.16816\.F32\.BF16
// sass: mla_decode has LDGSTS

constexpr u32 WIDTH = RANK + ROPE, STEPS = WIDTH / 16, TOKENS = 32, SPAN = 256, COLUMNS = RANK / 4, PART = RANK + 2;
constexpr u32 TILE = TOKENS * WIDTH, SCORE_STRIDE = TOKENS + 1;
constexpr float LOG2_E = 1.44269504f;

// State of a warp for 16 heads: for heads g and g + 8 the largest score and the sum of weights, and the warp's columns of the results.
struct Heads {
    float most[2], sum[2], result[COLUMNS / 8][4];
};

// Writes the scores of a warp's eight cached rows, in units of log2.
DEVICE void score(float* scores, const bf16* query, const bf16* tile, u32 begin, u32 last, float scale) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, token = warp * 8 + lane % 8;
    float sums[4] = {};
    _Pragma("unroll 4") for (u32 step = 0; step < STEPS; step++) {
        u32 a[4], b[2];
        ldmatrix_x4(a, query + lane % 16 * WIDTH + kv_swizzle<WIDTH>(lane % 16, step * 16 + lane / 16 * 8));
        ldmatrix_x2(b, tile + token * WIDTH + kv_swizzle<WIDTH>(token, step * 16 + lane / 8 % 2 * 8));
        mma_bf16(sums, a[0], a[1], a[2], a[3], b[0], b[1]);
    }
    _Pragma("unroll") for (u32 i = 0; i < 4; i++) {
        u32 key = warp * 8 + lane % 4 * 2 + i % 2;
        scores[(lane / 4 + i / 2 * 8) * SCORE_STRIDE + key] = begin + key <= last ? sums[i] * scale : MINUS_INFINITY;
    }
}

// Makes the weights of 32 cached rows, in the layout of both steps of a product, and scales earlier results to the new largest score.
DEVICE void weigh(u32 (&weights)[2][4], Heads& heads, const float* scores) {
    u32 lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 half = 0; half < 2; half++) {
        const float* row = scores + (lane / 4 + half * 8) * SCORE_STRIDE + lane % 4 * 2;
        float x[8], most = MINUS_INFINITY, sum = 0.0f;
        _Pragma("unroll") for (u32 i = 0; i < 8; i++) x[i] = row[i / 2 * 8 + i % 2], most = fmaxf(most, x[i]);
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        most = fmaxf(heads.most[half], fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2)));
        float factor = exp2f(heads.most[half] - most);
        _Pragma("unroll") for (u32 i = 0; i < 8; i++) x[i] = exp2f(x[i] - most), sum += x[i];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        heads.sum[half] = heads.sum[half] * factor + sum + __shfl_xor_sync(0xffffffffu, sum, 2);
        heads.most[half] = most;
        _Pragma("unroll") for (u32 i = 0; i < 4; i++) weights[i / 2][i % 2 * 2 + half] = bf16_pair(x[i * 2], x[i * 2 + 1]);
        _Pragma("unroll") for (u32 i = 0; i < COLUMNS / 8; i++) {
            heads.result[i][half * 2] *= factor, heads.result[i][half * 2 + 1] *= factor;
        }
    }
}

DEVICE void add(const u32 (&weights)[2][4], Heads& heads, const bf16* tile) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 step = 0; step < 2; step++) {
        u32 token = step * 16 + lane % 16;
        const u32(&a)[4] = weights[step];
        _Pragma("unroll") for (u32 pair = 0; pair < COLUMNS / 16; pair++) {
            u32 b[4], col = warp * COLUMNS + pair * 16 + lane / 16 * 8;
            ldmatrix_x4_trans(b, tile + token * WIDTH + kv_swizzle<WIDTH>(token, col));
            mma_bf16(heads.result[pair * 2], a[0], a[1], a[2], a[3], b[0], b[1]);
            mma_bf16(heads.result[pair * 2 + 1], a[0], a[1], a[2], a[3], b[2], b[3]);
        }
    }
}

// Writes a span's results, where the row has no other span.
DEVICE void finish(const Heads& heads, bf16* out, u32 count) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 half = 0; half < 2; half++) {
        u32 head = lane / 4 + half * 8;
        float factor = 1.0f / heads.sum[half];
        if (head >= count) continue;
        _Pragma("unroll") for (u32 i = 0; i < COLUMNS / 8; i++) {
            u32 col = warp * COLUMNS + i * 8 + lane % 4 * 2;
            *(u32*)(out + head * RANK + col) = bf16_pair(heads.result[i][half * 2] * factor, heads.result[i][half * 2 + 1] * factor);
        }
    }
}

DEVICE void put(const Heads& heads, float* part) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    _Pragma("unroll") for (u32 half = 0; half < 2; half++) {
        float* row = part + (lane / 4 + half * 8) * PART;
        _Pragma("unroll") for (u32 i = 0; i < COLUMNS / 8; i++) {
            u32 col = warp * COLUMNS + i * 8 + lane % 4 * 2;
            *(float2*)(row + col) = make_float2(heads.result[i][half * 2], heads.result[i][half * 2 + 1]);
        }
        if (warp == 0 && lane % 4 == 0) row[RANK] = heads.most[half], row[RANK + 1] = heads.sum[half];
    }
}

KERNEL __launch_bounds__(128, 2) void mla_decode(const bf16* queries, const bf16* cache, const u32* tables, const u32* lanes,
                                              const u32* positions, bf16* out, u32 rows, u32 heads, u32 table_width,
                                              float scale, const uint4* work, float* partials, u32* counters) {
    grid_launch_dependents();
    grid_dependency_wait();
    bf16* tiles = (bf16*)shared_memory();
    bf16* query = tiles + 2 * TILE;
    float* scores = (float*)(query + 16 * WIDTH);
    u32* is_last = (u32*)(scores + 16 * SCORE_STRIDE);
    u32 groups = (heads + 15) / 16, items = work[0].x * groups;
    for (u32 number = blockIdx.x; number < items; number += gridDim.x) {
        uint4 item = work[1 + number / groups];
        u32 row = item.x, group = number % groups, count = min(16u, heads - group * 16);
        u32 begin = item.y, last = min(positions[row], item.y + SPAN - 1);
        const u32* table = tables + (u64)lanes[row] * table_width;
        const bf16* from = queries + ((u64)row * heads + group * 16) * WIDTH;
        for (u32 chunk = threadIdx.x; chunk < 16 * WIDTH / 8; chunk += 128) {
            u32 head = chunk / (WIDTH / 8), col = chunk % (WIDTH / 8) * 8;
            bool is_there = head < count;
            cp_async16(query + head * WIDTH + kv_swizzle<WIDTH>(head, col), is_there ? from + chunk * 8 : from, is_there ? 16 : 0);
        }
        copy_cached<4, TOKENS, WIDTH>(tiles, cache, table[begin / 64], begin, last);
        cp_async_commit();
        Heads found = {{MINUS_INFINITY, MINUS_INFINITY}, {0.0f, 0.0f}, {}};
        for (u32 at = begin, stage = 0; at <= last; at += TOKENS, stage ^= 1) {
            const bf16* tile = tiles + stage * TILE;
            u32 next = at + TOKENS;
            if (next <= last) copy_cached<4, TOKENS, WIDTH>(tiles + (stage ^ 1) * TILE, cache, table[next / 64], next, last);
            cp_async_commit();
            cp_async_wait<1>();
            __syncthreads();
            score(scores, query, tile, at, last, scale * LOG2_E);
            __syncthreads();
            u32 weights[2][4];
            weigh(weights, found, scores);
            add(weights, found, tile);
            __syncthreads();
        }
        bf16* to = out + ((u64)row * heads + group * 16) * RANK;
        if (item.w == 1) {
            finish(found, to, count);
            continue;
        }
        put(found, partials + (u64)number * 16 * PART);
        __threadfence();
        __syncthreads();
        u32* counter = counters + (u64)row * groups + group;
        if (threadIdx.x == 0) *is_last = atomicAdd(counter, 1u) == item.w - 1;
        __syncthreads();
        if (*is_last) {
            __threadfence();
            if (threadIdx.x == 0) *counter = 0;
            const float* parts = partials + ((u64)item.z * groups + group) * 16 * PART;
            for (u32 i = threadIdx.x; i < count * RANK; i += 128) {
                Joined all = join<RANK>(parts + i / RANK * PART, item.w, (u64)groups * 16 * PART, i % RANK, MINUS_INFINITY);
                to[i] = bf16_of(all.value / all.sum);
            }
        }
        __syncthreads();
    }
}
