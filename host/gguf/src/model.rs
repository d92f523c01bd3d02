//! A model in one GGUF file, or in several parts: its keys, which the first part has, and the
//! tensors of all parts.

use std::collections::HashMap;

use super::error::{GgufError, HeaderError, printable};
use super::header::{Header, TensorInfo};
use super::keys::Keys;
use super::tensor_type::TensorType;

/// Keys of the number of parts, and of a part's own number, from 0 on.
const SPLIT_COUNT: &str = "split.count";
const SPLIT_NUMBER: &str = "split.no";
const SPLIT_TENSORS: &str = "split.tensors.count";
/// Most parts of a model.
pub const MOST_PARTS: usize = 1000;

/// A model's file, or one of its parts.
#[derive(Debug, Clone, Copy)]
pub struct FilePart<'a> {
    /// Its name for messages.
    pub name: &'a str,
    /// Its bytes, or the first of them.
    pub bytes: &'a [u8],
    /// Its size.
    pub file_bytes: usize,
}

impl<'a> FilePart<'a> {
    /// A file that is there as a whole.
    pub fn whole(name: &'a str, bytes: &'a [u8]) -> Self {
        Self { name, bytes, file_bytes: bytes.len() }
    }

    /// Length of the header; `None` if it goes on behind the bytes that are there.
    ///
    /// # Errors
    /// The header is broken.
    pub fn header_len(&self) -> Result<Option<usize>, GgufError> {
        match Header::parse(self.bytes, self.file_bytes) {
            Ok(header) => Ok(Some(header.length)),
            Err(HeaderError::Incomplete) => Ok(None),
            Err(HeaderError::Wrong(reason)) => Err(GgufError::new(self.name, reason)),
        }
    }

    /// Number of parts that the header says the model has.
    ///
    /// # Errors
    /// The header is broken.
    pub fn part_count(&self) -> Result<usize, GgufError> {
        let keys = Keys::new(self.name, self.header()?.keys);
        let count = keys.size(SPLIT_COUNT, 0..=MOST_PARTS as u64)?;
        Ok(count.map_or(1, |count| usize::try_from(count).unwrap_or(1).max(1)))
    }

    fn header(&self) -> Result<Header<'a>, GgufError> {
        Header::parse(self.bytes, self.file_bytes).map_err(|error| {
            let reason = match error {
                HeaderError::Incomplete => "the file ends within its header".to_owned(),
                HeaderError::Wrong(reason) => reason,
            };
            GgufError::new(self.name, reason)
        })
    }
}

/// Keys and tensors of a model.
#[derive(Debug)]
pub struct Gguf<'a> {
    pub(crate) keys: Keys<'a>,
    /// Number of the part that holds a tensor, and the tensor, by its name.
    pub(crate) tensors: HashMap<&'a str, (usize, TensorInfo<'a>)>,
    pub(crate) parts: &'a [FilePart<'a>],
}

impl<'a> Gguf<'a> {
    /// Reads the headers of a model's parts, which come in their order; there is at least one. Only
    /// the headers must be there.
    ///
    /// # Errors
    /// A header is broken, or the parts aren't those of one model.
    pub fn parse(parts: &'a [FilePart<'a>]) -> Result<Self, GgufError> {
        let mut first = None;
        let mut tensors = HashMap::new();
        let mut tensor_count = 0;
        for (number, part) in parts.iter().enumerate() {
            let header = part.header()?;
            let keys = Keys::new(part.name, header.keys);
            check_split(&keys, number, parts.len())?;
            tensor_count += header.tensors.len();
            for tensor in header.tensors {
                if let Some((_, twice)) = tensors.insert(tensor.name, (number, tensor)) {
                    return Err(keys.error(format!("tensor {} occurs twice", printable(twice.name))));
                }
            }
            first.get_or_insert(keys);
        }
        let keys = first.ok_or_else(|| GgufError::new("GGUF", "no file"))?;
        let stated = keys.size(SPLIT_TENSORS, 0..=u64::from(u32::MAX))?;
        match stated.filter(|stated| parts.len() > 1 && *stated != tensor_count as u64) {
            Some(stated) => {
                Err(keys.error(format!("{SPLIT_TENSORS} is {stated}, but the parts have {tensor_count}")))
            }
            None => Ok(Self { keys, tensors, parts }),
        }
    }

    /// The tensor `name`, and the number of its part.
    pub fn tensor(&self, name: &str) -> Option<&(usize, TensorInfo<'a>)> {
        self.tensors.get(name)
    }

    /// All tensors, each with the number of its part.
    pub fn tensors(&self) -> impl Iterator<Item = &(usize, TensorInfo<'a>)> {
        self.tensors.values()
    }

    pub(crate) fn has_tensor(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// Bytes of a tensor; `None` if they aren't there.
    pub(crate) fn bytes(&self, (part, tensor): &(usize, TensorInfo<'a>)) -> Option<&'a [u8]> {
        self.parts[*part].bytes.get(tensor.range.clone())
    }

    /// Bytes of all tensors in blocks.
    pub fn block_bytes(&self) -> u64 {
        let in_blocks =
            self.tensors.values().filter(|(_, tensor)| matches!(tensor.kind, TensorType::Blocks(_)));
        in_blocks.map(|(_, tensor)| tensor.range.len() as u64).sum()
    }

    /// What the file says it is, in a few words: `llama, mostly Q4_1, "SmolLM2 135M"`.
    pub fn summary(&self) -> String {
        let text = |key| self.keys.text(key).ok().flatten().map(printable);
        let architecture = text("general.architecture").unwrap_or_else(|| "unknown".to_owned());
        let mut bytes_by_type: HashMap<&str, usize> = HashMap::new();
        for (_, tensor) in self.tensors.values() {
            *bytes_by_type.entry(tensor.kind.name()).or_default() += tensor.range.len();
        }
        let most = bytes_by_type.into_iter().max_by_key(|(name, bytes)| (*bytes, *name));
        let mostly = most.map(|(name, _)| format!(", mostly {name}")).unwrap_or_default();
        let name = text("general.name").map(|name| format!(", {name:?}")).unwrap_or_default();
        format!("{architecture}{mostly}{name}")
    }
}

fn check_split(keys: &Keys<'_>, number: usize, parts: usize) -> Result<(), GgufError> {
    let most = MOST_PARTS as u64;
    let count = keys.size(SPLIT_COUNT, 0..=most)?.unwrap_or(1).max(1);
    let own = keys.size(SPLIT_NUMBER, 0..=most)?.unwrap_or(0);
    if (own, count) == (number as u64, parts as u64) {
        return Ok(());
    }
    Err(keys.error(format!("this is part {} of {count}, expected part {} of {parts}", own + 1, number + 1)))
}
