// Attention of rows that see many positions, as rows that decode do. A row's positions are divided among blocks of the grid (split-KV, as
// in Flash-Decoding; Dao et al. 2023); the last block of a row to end combines the partial results.
//
// The host makes a list of spans, each 256 positions of a row at most. A block of 4 warps computes a span for one key head, and goes on
// with the item gridDim.x further, so that one grid serves any lengths. A warp has 64 positions, one KV block. The query heads that share
// the key head, padded to 16, are the rows of mma.m16n8k16. Nothing of the cache goes through shared memory: 16 bytes of a key are what a
// lane needs for two products, with the query's dimensions in the same order; and a lane's words of four tokens' values become two columns
// of the second product by a permutation of bytes. Scores are in units of log2; weights are rounded to bf16 for the product, their sums are
// not. Partial results are added in the order of positions, so results don't depend on which block is last. Bytes: every key and value of a
// row once for each of its key heads; of each span's partial result 4 for each value, written and read.
//
// work: {number of items, 0, 0, 0}, then for each item {row; first position, a multiple of 64; the row's first item; number of the row's
// items}.
// partials: [items, heads, HEAD_DIM + 2] f32: sums of weighted values, the largest score, the sum of weights. counters: one for each row
// and key head, zero before and after the launch.
// sass [HEAD_DIM=128]: attention_decode has HMMA\.16816\.F32\.BF16
// sass [HEAD_DIM=128]: attention_decode has LDG\.E\.128

constexpr u32 WARPS = 4, PART = HEAD_DIM + 2;
// 32 dimensions of a key are two steps of a product. A lane has VALUES neighbouring elements of a value; eight lanes have a group of them.
constexpr u32 KEY_STEPS = HEAD_DIM / 32, VALUES = HEAD_DIM % 64 == 0 ? 8 : 4, GROUPS = HEAD_DIM / (8 * VALUES);
constexpr float LOG2_E = 1.44269504f;

// Partial result of a warp for 16 query heads; `most` and `sum` are those of rows g and g + 8.
struct Found {
    float most[2], sum[2], result[GROUPS][VALUES][4];
};

struct Cache {
    const bf16 *keys, *values;
    u32 kv_head, kv_heads;
};

// Loads elements of a value; those of positions that the row doesn't see are zero, whatever lies in the cache.
DEVICE void load_value(u32 (&words)[VALUES / 2], const Cache& cache, u32 slot, u32 dim, bool is_seen) {
    const bf16* place = cache.values + kv_row<HEAD_DIM>(slot, cache.kv_head, cache.kv_heads) + kv_swizzle<HEAD_DIM>(slot, dim);
    if constexpr (VALUES == 8) {
        uint4 v = is_seen ? *(const uint4*)place : make_uint4(0, 0, 0, 0);
        words[0] = v.x, words[1] = v.y, words[VALUES / 2 - 2] = v.z, words[VALUES / 2 - 1] = v.w;
    } else {
        uint2 v = is_seen ? *(const uint2*)place : make_uint2(0, 0);
        words[0] = v.x, words[1] = v.y;
    }
}

// Computes the partial result of 64 positions from `begin` on, of which those from `first` to `last` are seen.
DEVICE void attend(Found& found, const uint4 (&low)[KEY_STEPS], const uint4 (&high)[KEY_STEPS], const Cache& cache, u32 block,
                   u32 begin, u32 first, u32 last, float scale) {
    u32 lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    float scores[8][4] = {};
    _Pragma("unroll") for (u32 tile = 0; tile < 8; tile++) {
        u32 at = tile * 8 + g, slot = block * 64 + at;
        const bf16* row = cache.keys + kv_row<HEAD_DIM>(slot, cache.kv_head, cache.kv_heads);
        bool is_seen = begin + at >= first && begin + at <= last;
        _Pragma("unroll") for (u32 step = 0; step < KEY_STEPS; step++) {
            uint4 key = make_uint4(0, 0, 0, 0);
            if (is_seen) key = *(const uint4*)(row + kv_swizzle<HEAD_DIM>(slot, step * 32 + t * 8));
            mma_bf16(scores[tile], low[step].x, high[step].x, low[step].y, high[step].y, key.x, key.y);
            mma_bf16(scores[tile], low[step].z, high[step].z, low[step].w, high[step].w, key.z, key.w);
        }
    }
    _Pragma("unroll") for (u32 half = 0; half < 2; half++) {
        float most = MINUS_INFINITY, sum = 0.0f;
        _Pragma("unroll") for (u32 i = 0; i < 16; i++) {
            u32 position = begin + i / 2 * 8 + t * 2 + i % 2;
            float& score = scores[i / 2][half * 2 + i % 2];
            score = position >= first && position <= last ? score * scale : MINUS_INFINITY;
            most = fmaxf(most, score);
        }
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
        _Pragma("unroll") for (u32 i = 0; i < 16; i++) {
            float& score = scores[i / 2][half * 2 + i % 2];
            score = score > MINUS_INFINITY ? exp2f(score - most) : 0.0f;
            sum += score;
        }
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        found.most[half] = most, found.sum[half] = sum + __shfl_xor_sync(0xffffffffu, sum, 2);
    }
    _Pragma("unroll") for (u32 step = 0; step < 4; step++) {
        u32 weights[4];
        _Pragma("unroll") for (u32 i = 0; i < 4; i++) {
            const float(&pair)[4] = scores[step * 2 + i / 2];
            weights[i] = bf16_pair(pair[i % 2 * 2], pair[i % 2 * 2 + 1]);
        }
        _Pragma("unroll") for (u32 group = 0; group < GROUPS; group++) {
            u32 words[4][VALUES / 2];
            _Pragma("unroll") for (u32 key = 0; key < 4; key++) {
                u32 at = step * 16 + t * 2 + key / 2 * 8 + key % 2;
                bool is_seen = begin + at >= first && begin + at <= last;
                load_value(words[key], cache, block * 64 + at, (group * 8 + g) * VALUES, is_seen);
            }
            _Pragma("unroll") for (u32 i = 0; i < VALUES; i++) {
                u32 halves = i % 2 ? 0x7632 : 0x5410;
                u32 b0 = __byte_perm(words[0][i / 2], words[1][i / 2], halves);
                u32 b1 = __byte_perm(words[2][i / 2], words[3][i / 2], halves);
                mma_bf16(found.result[group][i], weights[0], weights[1], weights[2], weights[3], b0, b1);
            }
        }
    }
}

// Writes a warp's partial result to shared memory, the dimensions in their order.
DEVICE void put(float* part, const Found& found) {
    u32 lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    _Pragma("unroll") for (u32 half = 0; half < 2; half++) {
        float* row = part + (g + half * 8) * PART;
        _Pragma("unroll") for (u32 i = 0; i < GROUPS * VALUES * 2; i++) {
            u32 group = i / (VALUES * 2), value = i / 2 % VALUES, side = i % 2;
            row[(group * 8 + t * 2 + side) * VALUES + value] = found.result[group][value][half * 2 + side];
        }
        if (t == 0) row[HEAD_DIM] = found.most[half], row[HEAD_DIM + 1] = found.sum[half];
    }
}

KERNEL __launch_bounds__(128) void attention_decode(const bf16* qkv, const bf16* keys, const bf16* values, const u32* tables,
                                                    const u32* lanes, const u32* positions, const float* sinks, bf16* out,
                                                    u32 rows, u32 heads, u32 kv_heads, u32 table_width, u32 window,
                                                    float scale, const uint4* work, float* partials, u32* counters) {
    grid_launch_dependents();
    grid_dependency_wait();
    float* parts = (float*)shared_memory();
    u32* is_last = (u32*)(parts + WARPS * 16 * PART);
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = heads / kv_heads, items = work[0].x * kv_heads;
    for (u32 number = blockIdx.x; number < items; number += gridDim.x) {
        uint4 item = work[1 + number / kv_heads];
        u32 row = item.x, kv_head = number % kv_heads, begin = item.y + warp * 64;
        u32 last = positions[row], first = window && last >= window ? last + 1 - window : 0;
        Found found = {{MINUS_INFINITY, MINUS_INFINITY}, {0.0f, 0.0f}, {}};
        if (begin <= last) {
            const bf16* query = qkv + ((u64)row * (heads + 2 * kv_heads) + kv_head * group) * HEAD_DIM + lane % 4 * 8;
            uint4 low[KEY_STEPS], high[KEY_STEPS];
            _Pragma("unroll") for (u32 step = 0; step < KEY_STEPS; step++) {
                u32 g = lane / 4;
                uint4 none = make_uint4(0, 0, 0, 0);
                low[step] = g < group ? *(const uint4*)(query + g * HEAD_DIM + step * 32) : none;
                high[step] = g + 8 < group ? *(const uint4*)(query + (g + 8) * HEAD_DIM + step * 32) : none;
            }
            u32 block = tables[(u64)lanes[row] * table_width + begin / 64];
            attend(found, low, high, {keys, values, kv_head, kv_heads}, block, begin, first, last, scale * LOG2_E);
        }
        put(parts + warp * 16 * PART, found);
        __syncthreads();
        bool is_alone = item.w == 1;
        bf16* to = out + ((u64)row * heads + kv_head * group) * HEAD_DIM;
        for (u32 i = threadIdx.x; i < group * HEAD_DIM; i += 128) {
            u32 query = i / HEAD_DIM, dim = i % HEAD_DIM;
            float sink = is_alone && sinks ? sinks[kv_head * group + query] * LOG2_E : MINUS_INFINITY;
            Joined all = join<HEAD_DIM>(parts + query * PART, WARPS, 16 * PART, dim, sink);
            if (is_alone) {
                to[i] = bf16_of(all.value / (all.sum + exp2f(sink - all.most)));
            } else {
                float* own = partials + ((u64)number * group + query) * PART;
                own[dim] = all.value;
                if (dim == 0) own[HEAD_DIM] = all.most, own[HEAD_DIM + 1] = all.sum;
            }
        }
        if (!is_alone) {
            __threadfence();
            __syncthreads();
            u32* counter = counters + (u64)row * kv_heads + kv_head;
            if (threadIdx.x == 0) *is_last = atomicAdd(counter, 1u) == item.w - 1;
            __syncthreads();
            if (*is_last) {
                __threadfence();
                if (threadIdx.x == 0) *counter = 0;
                const float* first_part = partials + ((u64)item.z * kv_heads + kv_head) * group * PART;
                for (u32 i = threadIdx.x; i < group * HEAD_DIM; i += 128) {
                    u32 query = i / HEAD_DIM;
                    float sink = sinks ? sinks[kv_head * group + query] * LOG2_E : MINUS_INFINITY;
                    Joined all = join<HEAD_DIM>(first_part + query * PART, item.w, (u64)heads * PART, i % HEAD_DIM, sink);
                    to[i] = bf16_of(all.value / (all.sum + exp2f(sink - all.most)));
                }
            }
        }
        __syncthreads();
    }
}
