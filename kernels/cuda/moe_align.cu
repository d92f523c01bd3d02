// Ordering of routes by expert: the routes (token * per_token + choice) of expert 0 in their order, then those of expert 1, and
// so on, and the place where each expert's routes begin.
//
// A warp for an expert. It reads all routes twice: first it counts the routes of lower experts, which come before its own, then
// it writes its own. So there are no atomic operations, and the order is always the same. Bytes: 8 for each route and expert, of
// which all but 4 for each route come from the caches.

KERNEL __launch_bounds__(128) void moe_align(const u32* experts, u32* order, u32* starts, u32 routes, u32 count) {
    grid_launch_dependents();
    grid_dependency_wait();
    u32 expert = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (expert >= count) return;
    u32 place = 0;
    for (u32 route = lane; route < routes; route += 32) place += experts[route] < expert;
    place = __reduce_add_sync(0xffffffffu, place);
    if (lane == 0) starts[expert] = place;
    for (u32 begin = 0; begin < routes; begin += 32) {
        u32 route = begin + lane;
        bool is_own = route < routes && experts[route] == expert;
        u32 own = __ballot_sync(0xffffffffu, is_own);
        if (is_own) order[place + __popc(own & ((1u << lane) - 1))] = route;
        place += __popc(own);
    }
    if (lane == 0 && expert + 1 == count) starts[count] = place;
}
