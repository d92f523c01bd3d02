//! Reader of a tool server's lines, of which each is a message. A line above the bound, or more
//! lines than the server may send, end the reading with an error, so that a server can neither fill
//! the memory nor keep the host busy.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use super::allowance::Allowance;
use super::error::McpError;
use super::values::ValueCounter;

/// Reader of `inner` that fails at the first line that is too long or one too many.
pub(super) struct BoundedLines<R> {
    inner: R,
    most: usize,
    /// Size and values of the line that has begun.
    line: usize,
    values: ValueCounter,
    allowance: Arc<Allowance>,
}

impl<R> BoundedLines<R> {
    /// Allows lines of at most `most` bytes.
    pub(super) fn new(inner: R, most: usize, allowance: Arc<Allowance>) -> Self {
        Self { inner, most, line: 0, values: ValueCounter::default(), allowance }
    }

    /// Counts lines and their bytes; false if the connection has to end.
    fn count(&mut self, bytes: &[u8]) -> bool {
        bytes.split_inclusive(|byte| *byte == b'\n').all(|part| {
            let ends = part.ends_with(b"\n");
            self.line += part.len() - usize::from(ends);
            let counted = self.values.read(part);
            let fault = (self.line > self.most).then_some(McpError::TooLarge(self.most)).or(counted.err());
            if let Some(fault) = fault {
                self.allowance.end(fault);
                return false;
            }
            if ends {
                self.values = ValueCounter::default();
            }
            !ends || self.allowance.take(std::mem::take(&mut self.line))
        })
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.allowance.violation().is_some() {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        if self.count(&buffer.filled()[before..]) {
            return Poll::Ready(Ok(()));
        }
        buffer.set_filled(before);
        Poll::Ready(Err(io::ErrorKind::InvalidData.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Allowance, BoundedLines, McpError};
    use crate::limits::McpLimits;

    fn allowance() -> Arc<Allowance> {
        Allowance::new("test".into(), &McpLimits { messages_per_second: 1, ..McpLimits::default() })
    }

    fn counted(most: usize, reads: &[&[u8]]) -> Vec<bool> {
        let mut lines = BoundedLines::new(tokio::io::empty(), most, allowance());
        reads.iter().map(|read| lines.count(read)).collect()
    }

    #[test]
    fn line_length_counts_across_reads_and_resets_at_end() {
        assert_eq!(counted(4, &[b"ab", b"cd\n", b"efgh", b"\n"]), [true; 4]);
        assert_eq!(counted(4, &[b"ab", b"cde\n"]), [true, false]);
        assert_eq!(counted(4, &[b"a\nbcdef\ng"]), [false]);
    }

    #[test]
    fn every_line_costs_whatever_is_in_it() {
        // With one message in a second, four may come at once.
        assert_eq!(counted(4, &[b"\n\n", b"\n", b"a"]), [true; 3]);
        assert_eq!(counted(4, &[b"\n\n\n\n", b"\n"]), [true, false]);
    }

    #[tokio::test]
    async fn reading_ends_at_the_line_that_is_too_long() {
        let allowance = allowance();
        let mut lines = BoundedLines::new(&b"0123456789"[..], 4, Arc::clone(&allowance));
        let mut out = Vec::new();
        tokio::io::copy(&mut lines, &mut out).await.unwrap_err();
        assert_eq!(allowance.violation(), Some(&McpError::TooLarge(4)));
        assert!(out.is_empty());
    }
}
