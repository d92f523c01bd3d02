//! Lists whose items are values of the same place, one behind the other, as formats of tags write
//! them: `<id>1</id><id>2</id>`.
//!
//! Invariant: only where the schema has a list and nothing else does a value wait for the next one,
//! and it is a list only if that comes; alone it is the string that it is.

use super::Parameters;
use crate::call::value::write_typed;
use contract::{Segment, Types};

/// What is known of values of the same place.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    /// Text of the value at the last place, which is its first item if another one follows.
    pub(super) item: Option<String>,
    /// The list that such items opened last.
    list: Vec<Segment>,
}

impl Parameters {
    /// The place of the next value, named by `path`: the next item, where values of this place are
    /// items.
    pub(super) fn of_repeated(&mut self, mut path: Vec<Segment>, out: &mut String) -> Vec<Segment> {
        if path == self.place
            && let Some(item) = self.repeated.item.take()
        {
            self.begin_list(&item, out);
        }
        self.end_item(out);
        if !self.repeated.list.is_empty() && self.repeated.list == path && self.inner == path {
            let next = self.open.last().map_or(0, |list| list.members);
            path.push(Segment::Item(next));
        }
        path
    }

    /// Opens the list at the last place, with its first item.
    fn begin_list(&mut self, item: &str, out: &mut String) {
        let first = Segment::Item(0);
        self.open_container(&first, out);
        self.inner.clone_from(&self.place);
        self.repeated.list.clone_from(&self.place);
        self.member(&first, out);
        let place = [self.place.as_slice(), &[first]].concat();
        write_typed(item, self.types(&place), out);
        self.written.insert(place);
    }

    /// Writes a value that waited for another one of its place.
    pub(super) fn end_item(&mut self, out: &mut String) {
        if let Some(item) = self.repeated.item.take() {
            write_typed(&item, Types::STRING, out);
        }
    }
}
