// Results for a row of logits: the best id, an id whose logit is NaN or plus infinity, log-probabilities, the likeliest ids. For
// sampling.cu.

// Key of the largest logit (upper half), and the complement of the lowest id that has it (lower half).
DEVICE u64 best_of(const Row& row, Shared& shared) {
    u64 best = 0;
    for (u32 id = threadIdx.x; id < row.vocab; id += THREADS) {
        u64 one = (u64)key_of(logit_of(row, id)) << 32 | (u32)~id;
        if (one > best) best = one;
    }
    return over_block(best, Larger(), shared);
}

// Complement of the first id whose logit is NaN or plus infinity; 0 if there is none.
DEVICE u32 first_bad(const Row& row, Shared& shared) {
    u64 bad = 0;
    for (u32 id = threadIdx.x; id < row.vocab; id += THREADS) {
        if (!(row.logits[id] < -MINUS_INFINITY) && (u32)~id > bad) bad = (u32)~id;
    }
    return (u32)over_block(bad, Larger(), shared);
}

// Difference between a logit and its log-probability.
DEVICE float log_sum(const Row& row, float largest, Shared& shared) {
    float sum = 0.0f;
    for (u32 id = threadIdx.x; id < row.vocab; id += THREADS) sum += expf(row.logits[id] - largest);
    sum = block_sum(sum, (float*)shared.low);
    __syncthreads();
    return largest + logf(sum);
}

// Writes the `count` likeliest ids with their log-probabilities; returns how many it wrote.
DEVICE u32 write_top(const Row& row, u32 count, float above, u32* top, Shared& shared) {
    Limits limits = {0, NONE, 0.0f, 1.0f, 0.0f};
    u64 all = total(row, limits, Count(), shared);
    if (count < all && count > 0) limit(row, limits, Count(), count, shared);
    u32 found = count < all ? count : (u32)all;
    if (threadIdx.x == 0) shared.count = 0;
    __syncthreads();
    for (u32 id = threadIdx.x; id < row.vocab && found > 0; id += THREADS) {
        if (!is_left(limits, id, row.logits[id])) continue;
        u32 place = atomicAdd(&shared.count, 1u);
        shared.low[place] = id, shared.high[place] = key_of(row.logits[id]);
    }
    __syncthreads();
    for (u32 one = threadIdx.x; one < found; one += THREADS) {
        u32 id = shared.low[one], key = shared.high[one], rank = 0;
        for (u32 other = 0; other < found; other++) {
            rank += shared.high[other] > key || (shared.high[other] == key && shared.low[other] < id);
        }
        top[2 * rank] = id, top[2 * rank + 1] = __float_as_uint(row.logits[id] - above);
    }
    __syncthreads();
    return found;
}
