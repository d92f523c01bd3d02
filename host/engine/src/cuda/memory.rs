//! Division of a GPU's memory: keys and values get what weights, activations and kernels leave,
//! less a reserve.
//!
//! Invariant: nothing is allocated after the keys and values. From then on the scheduler's
//! admission of sequences is the only limit.

use super::CudaError;
use super::driver::DeviceMemory;

/// Bytes left for graphs and for the driver's own needs.
const RESERVE: u64 = 512 << 20;

/// Number of KV blocks for sequences. One more block is allocated, for rows that pad a step.
/// `limit`: greatest number of bytes that the operator allows.
pub(super) fn kv_blocks(
    memory: DeviceMemory,
    block_bytes: u64,
    limit: Option<u64>,
) -> Result<usize, CudaError> {
    let left = (memory.free / 100 * 95).saturating_sub(RESERVE);
    let bytes = limit.map_or(left, |limit| limit.min(left));
    match bytes / block_bytes {
        0 | 1 => Err(CudaError::Memory {
            what: "keys and values (two blocks of 64 tokens at least)",
            needed: 2 * block_bytes + RESERVE,
            free: memory.free,
            total: memory.total,
        }),
        // Slots are u32, and a block has 64 of them.
        blocks => Ok(usize::try_from(blocks - 1).unwrap_or(usize::MAX).min(u32::MAX as usize / 64 - 1)),
    }
}

/// Allocates with fewer and fewer blocks, a twentieth less each time, until the device has the
/// memory: free memory may be fragmented.
pub(super) fn retry<T>(
    mut blocks: usize,
    mut allocate: impl FnMut(usize) -> Result<T, CudaError>,
) -> Result<(usize, T), CudaError> {
    loop {
        match allocate(blocks) {
            Err(error) if error.is_out_of_memory() && blocks > 1 => blocks -= blocks.div_ceil(20),
            other => return other.map(|made| (blocks, made)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn memory(free: u64) -> DeviceMemory {
        DeviceMemory { free, total: 80 * GIB }
    }

    #[test]
    fn the_cache_gets_what_is_left_but_the_reserve() {
        let block = 9 << 20;
        let blocks = kv_blocks(memory(40 * GIB), block, None).unwrap() as u64;
        let given = 40 * GIB / 100 * 95 - (512 << 20);
        assert!((blocks + 1) * block <= given && (blocks + 2) * block > given);
    }

    #[test]
    fn an_operator_may_allow_less_and_never_more() {
        assert_eq!(kv_blocks(memory(40 * GIB), GIB, Some(9 * GIB)).unwrap(), 8);
        assert_eq!(kv_blocks(memory(40 * GIB), GIB, Some(900 * GIB)), kv_blocks(memory(40 * GIB), GIB, None));
    }

    #[test]
    fn no_room_is_an_error_with_figures() {
        let error = kv_blocks(memory(GIB / 2), 9 << 20, None).unwrap_err();
        assert!(error.to_string().ends_with("needed 530 MiB, free 512 MiB, total 81920 MiB"), "{error}");
    }

    #[test]
    fn allocation_shrinks_by_a_twentieth_until_it_fits() {
        let mut tried = Vec::new();
        let allocate = |blocks| {
            tried.push(blocks);
            let error =
                CudaError::Call { call: "cuMemAlloc", code: CudaError::OUT_OF_MEMORY, name: String::new() };
            if blocks > 900 { Err(error) } else { Ok(()) }
        };
        assert_eq!(retry(1000, allocate), Ok((856, ())));
        assert_eq!(tried, [1000, 950, 902, 856]);
    }

    #[test]
    fn other_errors_are_not_tried_again() {
        let sticky = CudaError::Call { call: "cuMemAlloc", code: 700, name: String::new() };
        assert_eq!(retry(1000, |_| Err::<(), _>(sticky.clone())), Err(sticky));
    }
}
