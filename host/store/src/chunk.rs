//! Event chunks as they are stored: lengths and bytes of all events, compressed together. Made by
//! the caller's task, not by the writer.

use crate::bounds::CHUNK_BYTES;
use crate::{Chunk, Result, StoreError};

/// A chunk as a row has it.
pub(crate) struct Packed {
    /// Number of its first event.
    pub(crate) first: u64,
    /// Number of its last event.
    pub(crate) last: u64,
    /// Raw length (4 bytes), then zstd.
    pub(crate) body: Vec<u8>,
}

const LEVEL: i32 = 1;

/// Compresses a chunk; one of more than [`CHUNK_BYTES`] becomes several.
pub(crate) fn pack(chunk: Chunk) -> Result<Vec<Packed>> {
    let mut packed = Vec::new();
    let (mut first, mut next) = (chunk.first, chunk.first);
    let mut raw = Vec::new();
    for event in chunk.events {
        if !raw.is_empty() && raw.len() + event.len() > CHUNK_BYTES {
            packed.push(compress(first, next, &raw)?);
            raw.clear();
            first = next;
        }
        let length = u32::try_from(event.len()).map_err(|_| broken("an event is longer than 4 GiB"))?;
        raw.extend(length.to_le_bytes());
        raw.extend(event);
        next += 1;
    }
    if !raw.is_empty() {
        packed.push(compress(first, next, &raw)?);
    }
    Ok(packed)
}

fn compress(first: u64, next: u64, raw: &[u8]) -> Result<Packed> {
    let length = u32::try_from(raw.len()).map_err(|_| broken("a chunk is longer than 4 GiB"))?;
    let mut body = length.to_le_bytes().to_vec();
    body.extend(zstd::bulk::compress(raw, LEVEL).map_err(|e| StoreError::Unavailable(e.to_string()))?);
    Ok(Packed { first, last: next - 1, body })
}

/// The events of a stored chunk.
pub(crate) fn unpack(body: &[u8]) -> Result<Vec<Vec<u8>>> {
    let (length, compressed) = body.split_first_chunk().ok_or_else(|| broken("a stored chunk is cut"))?;
    let raw = zstd::bulk::decompress(compressed, u32::from_le_bytes(*length) as usize)
        .map_err(|e| StoreError::Unavailable(format!("a stored chunk: {e}")))?;
    let mut rest = raw.as_slice();
    let mut events = Vec::new();
    while let Some((length, tail)) = rest.split_first_chunk() {
        let (event, tail) = tail
            .split_at_checked(u32::from_le_bytes(*length) as usize)
            .ok_or_else(|| broken("a stored event is cut"))?;
        events.push(event.to_vec());
        rest = tail;
    }
    Ok(events)
}

fn broken(what: &str) -> StoreError {
    StoreError::Unavailable(what.to_owned())
}
