//! Cursor over a file's bytes: every read is checked against what is left of them. An error is a
//! reason, with the place in the file.

/// Reader of little-endian numbers and strings.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Place of the next byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Number of bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: u64) -> Result<&'a [u8], String> {
        let count = usize::try_from(count).ok().filter(|count| *count <= self.left());
        let count = count.ok_or_else(|| format!("truncated at byte {} of {}", self.at, self.bytes.len()))?;
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    /// The next bytes as an array, of which numbers are made.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, String> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number of things that take at least `least` bytes each, all of which must be left.
    pub(crate) fn count(&mut self, what: &str, least: usize) -> Result<usize, String> {
        let count = self.u64()?;
        let fits = usize::try_from(count).ok().filter(|count| *count <= self.left() / least);
        fits.ok_or_else(|| format!("{count} {what} don't fit the {} bytes that are left", self.left()))
    }

    /// A string: its length in bytes, then its bytes, which needn't be UTF-8.
    pub(crate) fn string(&mut self) -> Result<&'a [u8], String> {
        let length = self.u64()?;
        self.take(length)
    }

    /// A name: a short string of UTF-8.
    pub(crate) fn name(&mut self, longest: usize) -> Result<&'a str, String> {
        let at = self.at;
        let name = self.string()?;
        let name = std::str::from_utf8(name).ok().filter(|name| name.len() <= longest);
        name.ok_or_else(|| format!("the name at byte {at} is not UTF-8 of at most {longest} bytes"))
    }
}
