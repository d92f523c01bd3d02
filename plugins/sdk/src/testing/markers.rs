//! Finds markers in a stream by their text: leftmost, then longest; text that could still become one is held back.

/// What comes next in the stream.
#[derive(Debug)]
pub(super) enum Found {
    Text(String),
    Marker(u32, String),
}

#[derive(Debug)]
pub(super) struct Markers {
    literals: Vec<String>,
    pending: String,
}

impl Markers {
    pub(super) fn new(literals: Vec<String>) -> Self {
        assert!(literals.iter().all(|literal| !literal.is_empty()), "an empty marker");
        Self { literals, pending: String::new() }
    }

    pub(super) fn literal(&self, index: u32) -> &str {
        &self.literals[index as usize]
    }

    pub(super) fn push(&mut self, chunk: &str) {
        self.pending.push_str(chunk);
    }

    /// The next piece that is certain; at the end of the stream everything is.
    pub(super) fn next(&mut self, at_end: bool) -> Option<Found> {
        let (mut cut, mut marker) = (self.pending.len(), None);
        for (at, _) in self.pending.char_indices() {
            let rest = &self.pending[at..];
            let longer = |literal: &String| literal.len() > rest.len() && literal.starts_with(rest);
            if !at_end && self.literals.iter().any(longer) {
                cut = at;
                break;
            }
            let here =
                self.literals.iter().enumerate().filter(|(_, literal)| rest.starts_with(literal.as_str()));
            if let Some((index, literal)) = here.max_by_key(|(_, literal)| literal.len()) {
                (cut, marker) = (at, Some((index, literal.clone())));
                break;
            }
        }
        if cut > 0 {
            return Some(Found::Text(self.pending.drain(..cut).collect()));
        }
        let (index, literal) = marker?;
        self.pending.drain(..literal.len());
        Some(Found::Marker(u32::try_from(index).expect("few markers"), literal))
    }
}
