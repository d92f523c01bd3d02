//! The header of a safetensors file: eight bytes of length, JSON, then the tensors' bytes without
//! gaps.
//!
//! `SafeTensors::read_metadata` checks as much, but doesn't say which tensor has the wrong shape,
//! nor whether a file is too short or too long, so it isn't used. Everything is checked before a
//! byte of a tensor is touched: lengths, known element types, products of shapes, ranges, and that
//! tensors neither overlap nor leave gaps.

use std::collections::HashMap;
use std::ops::Range;

use safetensors::tensor::{Dtype, TensorInfo};
use serde_json::Value;

use super::LoadError;

/// Longest header read, in bytes (the format's own bound).
const LONGEST: usize = 100_000_000;

/// One tensor of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// Range of the tensor's bytes in the file.
    pub(super) range: Range<usize>,
}

/// The tensors of a file, by name. `file` names it in errors.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<HashMap<String, Entry>, LoadError> {
    let invalid = |reason: String| LoadError::invalid(file, reason);
    let (header, data) = split(bytes).map_err(invalid)?;
    let fields: HashMap<String, Value> = serde_json::from_slice(header)
        .map_err(|error| invalid(format!("the header is not a JSON object: {error}")))?;
    let mut entries = HashMap::with_capacity(fields.len());
    for (name, value) in fields {
        if name != "__metadata__" {
            let entry = entry(value, bytes.len() - data, data)
                .map_err(|reason| invalid(format!("tensor {}: {reason}", shortened(&name))))?;
            entries.insert(name, entry);
        }
    }
    without_gaps(&entries, data, bytes.len()).map_err(invalid)?;
    Ok(entries)
}

/// Splits a file into (header, offset of the tensors' bytes).
fn split(bytes: &[u8]) -> Result<(&[u8], usize), String> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(format!("truncated: {} bytes are no safetensors file", bytes.len()));
    };
    let length = u64::from_le_bytes(*length);
    let within = usize::try_from(length).ok().filter(|length| *length <= LONGEST);
    let Some(length) = within else {
        return Err(format!("no safetensors file: its header would have {length} bytes"));
    };
    let header = rest.get(..length).ok_or_else(|| {
        format!("truncated: the header has {length} bytes, the file {} after its length", rest.len())
    })?;
    Ok((header, 8 + length))
}

fn entry(value: Value, data_len: usize, data: usize) -> Result<Entry, String> {
    let info: TensorInfo = serde_json::from_value(value).map_err(|error| error.to_string())?;
    let (start, end) = info.data_offsets;
    if start > end || end > data_len {
        return Err(format!("truncated: bytes {start} to {end} of {data_len}"));
    }
    let elements = info.shape.iter().try_fold(1usize, |product, n| product.checked_mul(*n));
    let bits = elements.and_then(|elements| elements.checked_mul(info.dtype.bitsize()));
    if bits != (end - start).checked_mul(8) {
        return Err(format!("{} bytes don't hold {:?} {:?}", end - start, info.dtype, info.shape));
    }
    Ok(Entry { dtype: info.dtype, shape: info.shape, range: data + start..data + end })
}

fn without_gaps(entries: &HashMap<String, Entry>, data: usize, end: usize) -> Result<(), String> {
    let mut order: Vec<(&String, &Range<usize>)> =
        entries.iter().map(|(name, entry)| (name, &entry.range)).collect();
    order.sort_by_key(|(_, range)| (range.start, range.end));
    let mut at = data;
    for (name, range) in order {
        if range.start != at {
            let what = if range.start < at { "overlaps another" } else { "leaves a gap before it" };
            return Err(format!("tensor {} {what}", shortened(name)));
        }
        at = range.end;
    }
    if at == end { Ok(()) } else { Err(format!("{} bytes after the last tensor", end - at)) }
}

/// A name from a file, fit for one line.
pub(super) fn shortened(name: &str) -> String {
    name.chars().take(100).map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: usize) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        bytes
    }

    #[test]
    fn a_sound_header_gives_ranges_within_the_file() {
        let header = r#"{"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[6,14]},"a":{"dtype":"BF16","shape":[1,3],"data_offsets":[0,6]}}"#;
        let entries = parse("f", &file(header, 14)).unwrap();
        let start = 8 + header.len();
        assert_eq!(entries["a"].range, start..start + 6);
        assert_eq!((entries["b"].range.clone(), entries["b"].dtype), (start + 6..start + 14, Dtype::F32));
    }

    #[test]
    fn every_fault_of_a_header_is_named() {
        let one = |info: &str| format!("{{\"a\":{info}}}");
        for (bytes, wanted) in [
            (vec![1, 2, 3], "f: truncated: 3 bytes are no safetensors file"),
            (vec![255; 20], "f: no safetensors file: its header would have 18446744073709551615 bytes"),
            (
                file("{}", 0)[..9].to_vec(),
                "f: truncated: the header has 2 bytes, the file 1 after its length",
            ),
            (file("[]", 0), "f: the header is not a JSON object: "),
            (file("{}", 5), "f: 5 bytes after the last tensor"),
            (
                file(&one(r#"{"dtype":"F32","shape":[2],"data_offsets":[0,8]}"#), 7),
                "f: tensor a: truncated: bytes 0 to 8 of 7",
            ),
            (
                file(&one(r#"{"dtype":"F32","shape":[3],"data_offsets":[0,8]}"#), 8),
                "f: tensor a: 8 bytes don't hold F32 [3]",
            ),
            (
                file(&one(r#"{"dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,8]}"#), 8),
                "f: tensor a: 8 bytes don't hold F32 [4294967296, 4294967296, 2]",
            ),
            (
                file(&one(r#"{"dtype":"F33","shape":[2],"data_offsets":[0,8]}"#), 8),
                "f: tensor a: unknown variant `F33`",
            ),
            (
                file(&one(r#"{"dtype":"F32","shape":[2],"data_offsets":[4,12]}"#), 12),
                "f: tensor a leaves a gap before it",
            ),
            (
                file(
                    r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#,
                    8,
                ),
                "f: tensor b overlaps another",
            ),
        ] {
            let error = parse("f", &bytes).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{error}\nwanted {wanted}");
        }
    }
}
