//! Header of one GGUF file: its keys, and where its tensors are. Everything is checked before a
//! byte of a tensor is touched: lengths against the bytes that are left, numbers of dimensions,
//! products of shapes, whole blocks, ranges within the file that don't overlap.

use std::collections::HashMap;
use std::ops::Range;

use super::cursor::Cursor;
use super::error::{HeaderError, printable};
use super::tensor_type::TensorType;
use super::value::MetadataValue;

/// First bytes of every file.
pub const MAGIC: [u8; 4] = *b"GGUF";

/// Longest name of a key, which is the format's own bound.
const LONGEST_KEY: usize = 65_535;
/// Longest name of a tensor. The format's own bound is 64, which some writers exceed.
const LONGEST_TENSOR_NAME: usize = 256;
/// Most keys, and most tensors of a file. Published files have a hundred keys and two thousand
/// tensors.
const MOST_ENTRIES: usize = 1 << 17;
const MOST_DIMENSIONS: u32 = 4;
const DEFAULT_ALIGNMENT: u64 = 32;
const MOST_ALIGNMENT: u64 = 1 << 20;
/// Bytes that an empty key with the smallest value takes, and a tensor without dimensions.
const LEAST_KEY_BYTES: usize = 13;
const LEAST_TENSOR_BYTES: usize = 24;

/// Keys and tensors of a file.
#[derive(Debug)]
pub(crate) struct Header<'a> {
    pub(crate) keys: HashMap<&'a str, MetadataValue<'a>>,
    pub(crate) tensors: Vec<TensorInfo<'a>>,
    /// Bytes that keys and tensors' entries take.
    pub(crate) length: usize,
}

/// Tensor of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo<'a> {
    /// Name of the tensor.
    pub name: &'a str,
    /// Type of its blocks.
    pub kind: TensorType,
    /// Shape, rows before columns: the file's dimensions in reverse.
    pub shape: Vec<usize>,
    /// Range of the tensor's bytes in its file.
    pub range: Range<usize>,
}

impl<'a> Header<'a> {
    /// Reads the header of a file of `file_bytes`, of which `bytes` are the first.
    pub(crate) fn parse(bytes: &'a [u8], file_bytes: usize) -> Result<Self, HeaderError> {
        let mut cursor = Cursor::new(bytes, file_bytes);
        check_version(&mut cursor)?;
        let tensors = cursor.count("tensors", LEAST_TENSOR_BYTES)?;
        let keys = cursor.count("keys", LEAST_KEY_BYTES)?;
        if tensors.max(keys) > MOST_ENTRIES {
            return Err(format!("{tensors} tensors and {keys} keys, more than {MOST_ENTRIES}").into());
        }
        let keys = read_keys(&mut cursor, keys)?;
        let alignment = alignment(&keys)?;
        let mut tensors: Vec<_> = (0..tensors).map(|_| entry(&mut cursor)).collect::<Result<_, _>>()?;
        let length = cursor.at();
        let data = (length as u64).next_multiple_of(alignment);
        for tensor in &mut tensors {
            place(tensor, data, alignment, file_bytes)
                .map_err(|reason| format!("tensor {}: {reason}", printable(tensor.name)))?;
        }
        check_overlaps(&tensors)?;
        Ok(Self { keys, tensors, length })
    }
}

fn check_version(cursor: &mut Cursor<'_>) -> Result<(), HeaderError> {
    let magic: [u8; 4] = cursor.array()?;
    if magic != MAGIC {
        return Err("no GGUF file: it doesn't begin with \"GGUF\"".to_owned().into());
    }
    match cursor.u32()? {
        2 | 3 => Ok(()),
        version if matches!(version.swap_bytes(), 1..=3) => {
            Err("its numbers are big-endian, which is not supported".to_owned().into())
        }
        version => Err(format!("GGUF version {version} is not supported; supported: 2, 3").into()),
    }
}

fn read_keys<'a>(
    cursor: &mut Cursor<'a>,
    count: usize,
) -> Result<HashMap<&'a str, MetadataValue<'a>>, HeaderError> {
    let mut keys = HashMap::with_capacity(count);
    for _ in 0..count {
        let name = cursor.name(LONGEST_KEY)?;
        let value =
            MetadataValue::read(cursor).map_err(|error| error.about(&format!("key {}", printable(name))))?;
        if keys.insert(name, value).is_some() {
            return Err(format!("key {} occurs twice", printable(name)).into());
        }
    }
    Ok(keys)
}

/// What tensors' offsets are multiples of.
fn alignment(keys: &HashMap<&str, MetadataValue<'_>>) -> Result<u64, String> {
    let Some(value) = keys.get("general.alignment") else { return Ok(DEFAULT_ALIGNMENT) };
    let alignment = value.as_u64().filter(|n| n.is_power_of_two() && *n <= MOST_ALIGNMENT);
    alignment.ok_or_else(|| format!("general.alignment must be a power of two up to {MOST_ALIGNMENT}"))
}

/// Reads a tensor's entry; its range begins at its offset among the tensors.
fn entry<'a>(cursor: &mut Cursor<'a>) -> Result<TensorInfo<'a>, HeaderError> {
    let name = cursor.name(LONGEST_TENSOR_NAME)?;
    let about = |error: HeaderError| error.about(&format!("tensor {}", printable(name)));
    let dimensions = cursor.u32().map_err(about)?;
    if !(1..=MOST_DIMENSIONS).contains(&dimensions) {
        return Err(about(format!("{dimensions} dimensions, expected 1 to {MOST_DIMENSIONS}").into()));
    }
    let mut shape = Vec::with_capacity(MOST_DIMENSIONS as usize);
    for _ in 0..dimensions {
        let size = cursor.u64().map_err(about)?;
        let size = usize::try_from(size).ok().filter(|size| *size > 0);
        shape.push(size.ok_or_else(|| about("a dimension is zero or too large".to_owned().into()))?);
    }
    shape.reverse();
    let id = cursor.u32().map_err(about)?;
    let kind = TensorType::from_id(id).map_err(|reason| about(reason.into()))?;
    let offset = cursor.u64().map_err(about)?;
    let offset = usize::try_from(offset).map_err(|_| about(format!("offset {offset}").into()))?;
    Ok(TensorInfo { name, kind, shape, range: offset..offset })
}

/// Puts a tensor's range where its bytes are in a file of `file` bytes, whose tensors begin at
/// `data`.
fn place(tensor: &mut TensorInfo<'_>, data: u64, alignment: u64, file: usize) -> Result<(), String> {
    let TensorInfo { kind, shape, range, .. } = &*tensor;
    let (cols, outer) = shape.split_last().ok_or("no dimensions")?;
    let row = kind.row_bytes(*cols).ok_or_else(|| {
        format!("rows of {cols} are not whole blocks of {} {} values", kind.block_len(), kind.name())
    })?;
    let bytes = outer.iter().try_fold(row, |product, n| product.checked_mul(*n));
    let offset = range.start as u64;
    if !offset.is_multiple_of(alignment) {
        return Err(format!("offset {offset} is not a multiple of {alignment}"));
    }
    let start = data.checked_add(offset).and_then(|start| usize::try_from(start).ok());
    let end = start.zip(bytes).and_then(|(start, bytes)| start.checked_add(bytes));
    let within = start.zip(end).filter(|(_, end)| *end <= file);
    let (start, end) = within.ok_or_else(|| {
        let kind = kind.name();
        format!("truncated: {kind} {shape:?} from {offset} on, in a file of {file} bytes")
    })?;
    tensor.range = start..end;
    Ok(())
}

fn check_overlaps(tensors: &[TensorInfo<'_>]) -> Result<(), String> {
    let mut order: Vec<&TensorInfo<'_>> = tensors.iter().collect();
    order.sort_unstable_by_key(|tensor| tensor.range.start);
    match order.windows(2).find(|pair| pair[0].range.end > pair[1].range.start) {
        Some(pair) => Err(format!("tensor {} overlaps {}", printable(pair[1].name), printable(pair[0].name))),
        None => Ok(()),
    }
}
