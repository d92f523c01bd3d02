// A row of logits as a block sees it: the ids that are left, and sums over them of a measure (one, or the weight). For
// sampling.cu.

#define NONE 0xffffffffu
constexpr u32 THREADS = 1024, WARPS = THREADS / 32, BINS = 2048;

// Words of a draw, in the order of `DrawRow::words` in src/sampling/mod.rs.
struct Draw {
    u32 logit_row, lane, mask_row, first_edit, end_edit;
    float temperature, top_p;
    u32 top_k;
    float min_p;
    u32 seed_low, seed_high, position_low, position_high, top_logprobs, unused[2];
};

struct Edit {
    u32 id;
    float bias, repetition, minus;
};

struct Shared {
    u32 low[BINS], high[BINS];
    u64 warps[WARPS];
    u64 rest;
    u32 digit, found, count;
    float logit;
};

// A row of logits, and its mask of the ids that may be chosen (null: all).
struct Row {
    const float* logits;
    const u32* mask;
    u32 vocab;
};

// Ids that are left: those with a key above `key`, and of those with that key the ids up to `id`. Weights below `least` count as
// zero.
struct Limits {
    u32 key, id;
    float largest, temperature, least;
};

DEVICE float logit_of(const Row& row, u32 id) {
    return !row.mask || row.mask[id / 32] >> id % 32 & 1 ? row.logits[id] : MINUS_INFINITY;
}

// Key of a logit: keys are ordered like logits, and zeros of both signs are equal.
DEVICE u32 key_of(float logit) {
    u32 bits = logit == 0.0f ? 0 : __float_as_uint(logit);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

DEVICE float of_key(u32 key) {
    return __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key);
}

DEVICE float weight_of(const Limits& limits, float logit) {
    return expf((logit - limits.largest) / limits.temperature);
}

DEVICE bool is_left(const Limits& limits, u32 id, float logit) {
    u32 key = key_of(logit);
    return logit > MINUS_INFINITY && (key > limits.key || (key == limits.key && id <= limits.id));
}

struct Count {
    DEVICE_MEMBER u64 of(const Limits&, float) const { return 1; }
};

struct Weight {
    DEVICE_MEMBER u64 of(const Limits& limits, float logit) const {
        float weight = weight_of(limits, logit);
        return weight >= limits.least ? (u64)(weight * 70368744177664.0f) : 0;
    }
};

// Counts the ids with key `key` whose weight is at least `least`.
struct Tie {
    u32 key;
    DEVICE_MEMBER u64 of(const Limits& limits, float logit) const {
        return key_of(logit) == key && weight_of(limits, logit) >= limits.least;
    }
};

struct Larger {
    DEVICE_MEMBER u64 of(u64 a, u64 b) const { return a > b ? a : b; }
};

struct Sum {
    DEVICE_MEMBER u64 of(u64 a, u64 b) const { return a + b; }
};

template <class Join>
DEVICE u64 over_warp(u64 x, Join join) {
    _Pragma("unroll") for (int offset = 16; offset > 0; offset /= 2) x = join.of(x, __shfl_xor_sync(0xffffffffu, x, offset));
    return x;
}

template <class Join>
DEVICE u64 over_block(u64 x, Join join, Shared& shared) {
    x = over_warp(x, join);
    if (threadIdx.x % 32 == 0) shared.warps[threadIdx.x / 32] = x;
    __syncthreads();
    u64 all = shared.warps[0];
    for (u32 warp = 1; warp < WARPS; warp++) all = join.of(all, shared.warps[warp]);
    __syncthreads();
    return all;
}

// Sum over this lane and all lanes before it.
DEVICE u64 up_to_lane(u64 x) {
    for (u32 offset = 1; offset < 32; offset *= 2) {
        u64 before = __shfl_up_sync(0xffffffffu, x, offset);
        if (threadIdx.x % 32 >= offset) x += before;
    }
    return x;
}

template <class Measure>
DEVICE u64 total(const Row& row, const Limits& limits, Measure measure, Shared& shared) {
    u64 sum = 0;
    for (u32 id = threadIdx.x; id < row.vocab; id += THREADS) {
        float logit = logit_of(row, id);
        if (is_left(limits, id, logit)) sum += measure.of(limits, logit);
    }
    return over_block(sum, Sum(), shared);
}
