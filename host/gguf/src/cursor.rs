//! Cursor over a file's bytes: every read is checked against what is left of the file. An error is
//! a reason, with the place in the file, or says that the bytes that are there end before.

use super::error::HeaderError;

/// Reader of little-endian numbers and strings.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Size of the file, of which `bytes` are the first.
    file_bytes: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], file_bytes: usize) -> Self {
        Self { bytes, at: 0, file_bytes: file_bytes.max(bytes.len()) }
    }

    /// Place of the next byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Number of bytes that the file has left.
    pub(crate) fn left(&self) -> usize {
        self.file_bytes - self.at
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: u64) -> Result<&'a [u8], HeaderError> {
        let count = usize::try_from(count).ok().filter(|count| *count <= self.left());
        let count = count.ok_or_else(|| format!("truncated at byte {} of {}", self.at, self.file_bytes))?;
        let taken = self.bytes.get(self.at..self.at + count).ok_or(HeaderError::Incomplete)?;
        self.at += count;
        Ok(taken)
    }

    /// The next bytes as an array, of which numbers are made.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, HeaderError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, HeaderError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number of things that take at least `least` bytes each, all of which must be left.
    pub(crate) fn count(&mut self, what: &str, least: usize) -> Result<usize, HeaderError> {
        let count = self.u64()?;
        let fits = usize::try_from(count).ok().filter(|count| *count <= self.left() / least);
        fits.ok_or_else(|| format!("{count} {what} don't fit the {} bytes that are left", self.left()).into())
    }

    /// A string: its length in bytes, then its bytes, which needn't be UTF-8.
    pub(crate) fn string(&mut self) -> Result<&'a [u8], HeaderError> {
        let length = self.u64()?;
        self.take(length)
    }

    /// A name: a short string of UTF-8.
    pub(crate) fn name(&mut self, longest: usize) -> Result<&'a str, HeaderError> {
        let at = self.at;
        let name = self.string()?;
        let name = std::str::from_utf8(name).ok().filter(|name| name.len() <= longest);
        name.ok_or_else(|| format!("the name at byte {at} is not UTF-8 of at most {longest} bytes").into())
    }
}
