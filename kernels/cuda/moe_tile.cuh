// Rows of one expert that a block computes, found from where the experts' rows begin, so that grids don't depend on the routes.

// Expert of a tile, and the places of its rows from `first` to `end`, which are equal if there are none.
struct Tile {
    u32 expert, first, end;
};

// The tile with this number, of at most `Rows` rows. Every warp computes it.
template <u32 Rows>
DEVICE Tile find_tile(const u32* starts, u32 experts, u32 tile) {
    u32 lane = threadIdx.x % 32, before = 0;
    for (u32 base = 0; base < experts; base += 32) {
        u32 expert = base + lane, start = 0, tiles = 0, end = 0;
        if (expert < experts) start = starts[expert], end = starts[expert + 1], tiles = (end - start + Rows - 1) / Rows;
        u32 sum = tiles;
        for (u32 offset = 1; offset < 32; offset *= 2) {
            u32 other = __shfl_up_sync(0xffffffffu, sum, offset);
            if (lane >= offset) sum += other;
        }
        u32 reached = __ballot_sync(0xffffffffu, before + sum > tile);
        if (reached) {
            int hit = __ffs(reached) - 1;
            u32 first = start + (tile - (before + sum - tiles)) * Rows;
            first = __shfl_sync(0xffffffffu, first, hit), end = __shfl_sync(0xffffffffu, end, hit);
            return {base + hit, first, min(end, first + Rows)};
        }
        before += __shfl_sync(0xffffffffu, sum, 31);
    }
    return {0, 0, 0};
}
