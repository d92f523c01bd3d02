// Kernels that are wrong in one way each, and a few that are right.

KERNEL void early_exit(float* x) {
    if (threadIdx.x == 5) return;
    __syncthreads();
    x[threadIdx.x] = 1.0f;
}

KERNEL void divergent_barrier(float* x) {
    if (threadIdx.x < 32) {
        __syncthreads();
    } else {
        x[0] = 1.0f;
        __syncthreads();
    }
}

KERNEL void behind_the_end(float* x, u32 at) { x[at] = 1.0f; }

KERNEL void misaligned(float* x, u32 at) { *(float4*)(x + at) = make_float4(1.0f, 2.0f, 3.0f, 4.0f); }

KERNEL void missing_lane(float* x) {
    if (threadIdx.x != 3) x[threadIdx.x] = __shfl_sync(0xffffffffu, 1.0f, 0);
}

KERNEL void foreign_lane(float* x) {
    if (threadIdx.x < 16) x[threadIdx.x] = __shfl_sync(0x0000ffffu, 1.0f, 20);
}

KERNEL void different_operations(float* x) {
    if (threadIdx.x < 16) {
        x[threadIdx.x] = __shfl_sync(0xffffffffu, 1.0f, 0);
    } else {
        x[threadIdx.x] = (float)__ballot_sync(0xffffffffu, 1);
    }
}

KERNEL void no_dependency_wait(float* x) {
    if (threadIdx.x > 0) grid_dependency_wait();
    x[threadIdx.x] = 1.0f;
}

KERNEL void division(u32* x) { x[0] = 7 / x[1]; }

KERNEL void shared_past_the_end(float* x, u32 bytes) { shared_memory()[bytes] = 1; }

// Reads what the neighbouring thread wrote, with a barrier or without.
KERNEL void neighbours(float* x, u32 barrier) {
    float* shared = (float*)shared_memory();
    shared[threadIdx.x] = (float)threadIdx.x;
    if (barrier) __syncthreads();
    x[threadIdx.x] = shared[(threadIdx.x + 1) % blockDim.x];
}

// Copies in two groups; the second group is awaited or not.
KERNEL void background_copy(const float* from, float* to, u32 wait) {
    float* shared = (float*)shared_memory() + threadIdx.x * 8;
    cp_async16(shared, from + threadIdx.x * 8);
    cp_async_commit();
    cp_async16(shared + 4, from + threadIdx.x * 8 + 4, 8);
    cp_async_commit();
    if (wait) cp_async_wait<0>(); else cp_async_wait<1>();
    for (int i = 0; i < 8; i++) to[threadIdx.x * 8 + i] = shared[i];
}

// out = a · bᵀ of 16×16 and 8×16, both by rows, through ldmatrix.
KERNEL void product(const bf16* a, const bf16* b, float* out) {
    bf16* shared = (bf16*)shared_memory();
    u32 lane = threadIdx.x;
    for (u32 i = lane; i < 256; i += 32) shared[i] = a[i];
    for (u32 i = lane; i < 128; i += 32) shared[256 + i] = b[i];
    __syncwarp();
    u32 fa[4], fb[2];
    ldmatrix_x4(fa, shared + lane % 16 * 16 + lane / 16 * 8);
    ldmatrix_x2(fb, shared + 256 + lane % 8 * 16 + lane / 8 % 2 * 8);
    float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    mma_bf16(c, fa[0], fa[1], fa[2], fa[3], fb[0], fb[1]);
    for (u32 i = 0; i < 4; i++) out[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
}

// The last block to come adds up what all have written.
KERNEL void last_block(u32* count, float* parts, float* out) {
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = (float)(blockIdx.x + 1);
        __threadfence();
        if (atomicAdd(count, 1u) == gridDim.x - 1) {
            float sum = 0.0f;
            for (u32 i = 0; i < gridDim.x; i++) sum += parts[i];
            out[0] = sum;
        }
    }
}

KERNEL void many_barriers(u32* x, u32 rounds) {
    for (u32 i = 0; i < rounds; i++) __syncthreads();
    x[blockIdx.x * blockDim.x + threadIdx.x] = warp_sum((float)rounds) == 32.0f * rounds;
}
