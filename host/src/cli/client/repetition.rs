//! Repetition: a small model may write the same words over and over until its context is full.
//! Whoever looks at such an answer has seen enough.

/// How much of an answer's end must be the same piece over and over, in bytes.
const TAIL: usize = 4096;
/// Longest piece, in bytes: it is there sixteen times at least.
const PIECE: usize = 256;
/// New bytes after which the end is looked at again.
const STRIDE: usize = 512;

/// The end of an answer that is being written.
#[derive(Default)]
pub(super) struct Repetition {
    /// At most twice `TAIL` and a delta.
    tail: Vec<u8>,
    unseen: usize,
}

impl Repetition {
    /// Takes the next text; true once the end is nothing but a repeated piece.
    pub(super) fn add(&mut self, text: &str) -> bool {
        self.tail.extend_from_slice(text.as_bytes());
        self.unseen += text.len();
        if self.tail.len() < TAIL || self.unseen < STRIDE {
            return false;
        }
        self.unseen = 0;
        self.tail.drain(..self.tail.len() - TAIL);
        period(&self.tail) <= PIECE
    }
}

/// The length of the shortest piece that `bytes` are repetitions of, the last of which may be a part: what
/// the longest proper prefix that is a suffix, too, leaves (Knuth, Morris, Pratt 1977).
fn period(bytes: &[u8]) -> usize {
    let mut borders = vec![0; bytes.len()];
    let mut border = 0;
    for end in 1..bytes.len() {
        while border > 0 && bytes[border] != bytes[end] {
            border = borders[border - 1];
        }
        border += usize::from(bytes[border] == bytes[end]);
        borders[end] = border;
    }
    bytes.len() - border
}

#[cfg(test)]
mod tests {
    use super::{PIECE, Repetition, TAIL, period};

    /// How many pieces are taken before the answer is stopped.
    fn taken(piece: impl Fn(usize) -> String) -> Option<usize> {
        let mut repetition = Repetition::default();
        (0..10_000).find(|index| repetition.add(&piece(*index)))
    }

    #[test]
    fn the_shortest_piece_is_found() {
        for (text, length) in [("a", 1), ("aaaa", 1), ("abab", 2), ("ababa", 2), ("abcab", 3), ("abcd", 4)] {
            assert_eq!(period(text.as_bytes()), length, "{text}");
        }
    }

    #[test]
    fn an_answer_that_goes_in_circles_is_stopped() {
        let sentence = "The capital of France is the capital of France. ";
        let pieces = taken(|_| sentence.to_owned()).expect("it is stopped") + 1;
        assert!((TAIL..2 * TAIL).contains(&(pieces * sentence.len())), "{pieces}");
        assert!(taken(|_| "ä".to_owned()).is_some());
        assert!(taken(|_| "x".repeat(PIECE - 1) + "\n").is_some());
    }

    #[test]
    fn an_answer_that_goes_on_is_not() {
        assert_eq!(taken(|index| format!("{index}, ")), None);
        assert_eq!(taken(|index| format!("| {index} | same | same | same |\n")), None);
        assert_eq!(taken(|_| "x".repeat(PIECE) + "\n"), None);
    }
}
