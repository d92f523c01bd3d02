//! Chunks of many bytes, each on a thread that lives as long as the call: for checks and copies of
//! weights at load, where one thread is slower than memory, and waits for the disk at each page
//! that isn't in memory yet.
//!
//! Invariant: results come in the order of the chunks. Used by `models` and `cuda`.

/// Size that chunks are a multiple of, in bytes: the start of a thread takes as long as a copy of a
/// few hundred kilobytes.
const LEAST: usize = 2 << 20;

/// Greatest number of threads: more of them wait for each other at the memory.
const THREADS: usize = 8;

/// Calls `work` with each chunk's offset and bytes; returns the results. All chunks but the last
/// are a multiple of 2 MiB.
pub(crate) fn map_chunks<T: Send>(bytes: &[u8], work: impl Fn(usize, &[u8]) -> T + Sync) -> Vec<T> {
    let size = chunk_bytes(bytes.len());
    run(bytes.chunks(size), size, &work)
}

/// Calls `work` with each chunk's offset and bytes, which it may change; chunks are those of
/// [`map_chunks`].
pub(crate) fn fill_chunks(bytes: &mut [u8], work: impl Fn(usize, &mut [u8]) + Sync) {
    let size = chunk_bytes(bytes.len());
    run(bytes.chunks_mut(size), size, &work);
}

fn run<S: Send, T: Send>(
    chunks: impl Iterator<Item = S>,
    size: usize,
    work: &(impl Fn(usize, S) -> T + Sync),
) -> Vec<T> {
    let mut chunks = chunks.enumerate().map(|(i, bytes)| (i * size, bytes));
    let Some((offset, first)) = chunks.next() else { return Vec::new() };
    std::thread::scope(|scope| {
        let others: Vec<_> = chunks.map(|(offset, bytes)| scope.spawn(move || work(offset, bytes))).collect();
        let first = work(offset, first);
        // A panic goes on in this thread, as if it had done the work.
        let join = |other: std::thread::ScopedJoinHandle<'_, T>| {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        std::iter::once(first).chain(others.into_iter().map(join)).collect()
    })
}

/// Bytes of a chunk.
fn chunk_bytes(bytes: usize) -> usize {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(THREADS);
    bytes.div_ceil(threads).next_multiple_of(LEAST).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_in_one_chunk_in_order() {
        for bytes in [0, 1, LEAST - 1, LEAST, LEAST + 1, 5 * LEAST + 3] {
            let wanted: Vec<u8> = (0..=250).cycle().take(bytes).collect();
            let chunks = map_chunks(&wanted, |offset, chunk| (offset, chunk.to_vec()));
            let ends = chunks.iter().map(|(offset, chunk)| offset + chunk.len());
            let begins = chunks.iter().map(|(offset, _)| *offset);
            assert!(std::iter::once(0).chain(ends).take(chunks.len()).eq(begins), "{bytes} bytes");
            assert!(chunks.into_iter().flat_map(|(_, chunk)| chunk).eq(wanted.iter().copied()));

            let mut filled = vec![0; bytes];
            fill_chunks(&mut filled, |offset, chunk| {
                let len = chunk.len();
                chunk.copy_from_slice(&wanted[offset..offset + len]);
            });
            assert!(filled == wanted, "{bytes} bytes");
        }
    }
}
