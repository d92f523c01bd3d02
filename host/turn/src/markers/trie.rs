//! Prefix tree over bytes of the literals that are matched in text. Used by `markers` only.

/// A prefix tree. Node 0 is the root.
#[derive(Debug)]
pub(super) struct Trie {
    nodes: Vec<Node>,
    /// Whether a literal begins with this byte, for each byte.
    starts: [bool; 256],
}

#[derive(Debug, Default)]
struct Node {
    marker: Option<u32>,
    /// (byte, node), sorted by byte.
    edges: Vec<(u8, usize)>,
}

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], starts: [false; 256] }
    }
}

impl Trie {
    /// Adds a literal, which isn't empty.
    pub(super) fn insert(&mut self, literal: &str, index: u32) {
        let mut node = 0;
        for &byte in literal.as_bytes() {
            node = match self.nodes[node].edges.binary_search_by_key(&byte, |edge| edge.0) {
                Ok(at) => self.nodes[node].edges[at].1,
                Err(at) => {
                    let next = self.nodes.len();
                    self.nodes.push(Node::default());
                    self.nodes[node].edges.insert(at, (byte, next));
                    next
                }
            };
        }
        self.nodes[node].marker = Some(index);
        self.starts[usize::from(literal.as_bytes()[0])] = true;
    }

    /// Number of bytes before the first byte that may begin a literal; all of them if there is
    /// none.
    pub(super) fn next_start(&self, bytes: &[u8]) -> usize {
        bytes.iter().position(|&byte| self.starts[usize::from(byte)]).unwrap_or(bytes.len())
    }

    pub(super) fn step(&self, node: usize, byte: u8) -> Option<usize> {
        let edges = &self.nodes[node].edges;
        edges.binary_search_by_key(&byte, |edge| edge.0).ok().map(|at| edges[at].1)
    }

    /// Index of the marker whose literal ends at this node.
    pub(super) fn marker(&self, node: usize) -> Option<u32> {
        self.nodes[node].marker
    }

    /// Whether a longer literal passes through this node.
    pub(super) fn has_children(&self, node: usize) -> bool {
        !self.nodes[node].edges.is_empty()
    }
}
