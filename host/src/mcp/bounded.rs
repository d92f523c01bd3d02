//! Bounds the lines read from a tool server, which may send anything. A line above the bound ends the reading with an error, so that one
//! answer can neither fill the memory nor keep its call waiting for the line's end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// Reader of `inner` that fails at the first line that is too long.
pub(super) struct BoundedLines<R> {
    inner: R,
    most: usize,
    line: usize,
    overflowed: Arc<AtomicBool>,
}

impl<R> BoundedLines<R> {
    /// Allows lines of at most `most` bytes; sets `overflowed` when one is longer.
    pub(super) fn new(inner: R, most: usize, overflowed: Arc<AtomicBool>) -> Self {
        Self { inner, most, line: 0, overflowed }
    }

    /// Counts the bytes of lines; false if a line is too long.
    fn count(&mut self, bytes: &[u8]) -> bool {
        let mut parts = bytes.split(|byte| *byte == b'\n');
        self.line += parts.next().map_or(0, <[u8]>::len);
        let mut fits = self.line <= self.most;
        for part in parts {
            self.line = part.len();
            fits &= self.line <= self.most;
        }
        fits
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.overflowed.load(Ordering::Relaxed) {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        if self.count(&buffer.filled()[before..]) {
            return Poll::Ready(Ok(()));
        }
        self.overflowed.store(true, Ordering::Relaxed);
        buffer.set_filled(before);
        Poll::Ready(Err(io::ErrorKind::InvalidData.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::BoundedLines;

    fn counted(most: usize, reads: &[&[u8]]) -> Vec<bool> {
        let mut lines = BoundedLines::new(tokio::io::empty(), most, Arc::default());
        reads.iter().map(|read| lines.count(read)).collect()
    }

    #[test]
    fn a_line_is_counted_across_reads_and_forgotten_at_its_end() {
        assert_eq!(counted(4, &[b"ab", b"cd\n", b"efgh", b"\n"]), [true; 4]);
        assert_eq!(counted(4, &[b"ab", b"cde\n"]), [true, false]);
        assert_eq!(counted(4, &[b"a\nbcdef\ng"]), [false]);
    }

    #[tokio::test]
    async fn reading_ends_at_the_line_that_is_too_long() {
        let overflowed = Arc::new(AtomicBool::new(false));
        let mut lines = BoundedLines::new(&b"0123456789"[..], 4, Arc::clone(&overflowed));
        let mut out = Vec::new();
        tokio::io::copy(&mut lines, &mut out).await.unwrap_err();
        assert!(overflowed.load(Ordering::Relaxed) && out.is_empty());
    }
}
