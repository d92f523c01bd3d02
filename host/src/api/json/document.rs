//! Memory of a body's reading: the arena of opened objects and resolved strings, the bound on their number of fields, and the names that
//! objects repeat.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bumpalo::Bump;

use super::super::error::ApiError;
use super::{Path, Value};
use crate::limits::Limits;

/// Most repeated names that are kept of one body.
const MAX_REPEATED: usize = 16;
/// Number of fields up to which names are compared with each other; those of larger objects are sorted.
const FEW_FIELDS: usize = 16;

/// Paths of fields that opened objects repeat.
pub(crate) type Repeated = Rc<RefCell<Vec<String>>>;

/// Owner of the memory that the reading of one body takes.
pub(crate) struct Document {
    pub(super) arena: Bump,
    /// Number of fields that may still be laid out.
    fields_left: Cell<usize>,
    max_fields: usize,
    pub(super) max_depth: usize,
    repeated: Repeated,
}

impl Document {
    /// An empty document, for one body.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            arena: Bump::new(),
            fields_left: Cell::new(limits.json_fields),
            max_fields: limits.json_fields,
            max_depth: limits.json_depth,
            repeated: Repeated::default(),
        }
    }

    /// Paths of repeated fields so far.
    pub(super) fn repeated(&self) -> Repeated {
        Rc::clone(&self.repeated)
    }

    /// Notes names that stand more than once among the fields of the object at `path`.
    pub(super) fn note_repeated(&self, fields: &[(&str, Value<'_>)], path: Path<'_>) {
        if fields.len() <= FEW_FIELDS {
            for (at, (name, _)) in fields.iter().enumerate() {
                if fields[..at].iter().any(|(other, _)| other == name) {
                    self.note(path.field(name));
                }
            }
            return;
        }
        let mut names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        for pair in names.windows(2).filter(|pair| pair[0] == pair[1]).take(MAX_REPEATED) {
            self.note(path.field(pair[0]));
        }
    }

    fn note(&self, path: Path<'_>) {
        let mut repeated = self.repeated.borrow_mut();
        if repeated.len() < MAX_REPEATED {
            repeated.push(path.to_string());
        }
    }

    /// Counts `count` fields that are about to be laid out.
    pub(super) fn count_fields(&self, count: usize, path: Path<'_>) -> Result<(), ApiError> {
        let left = self.fields_left.get().checked_sub(count).ok_or_else(|| {
            path.invalid(format_args!(
                "with this the request has more than {} fields to read, schemas apart",
                self.max_fields
            ))
        })?;
        self.fields_left.set(left);
        Ok(())
    }
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Document").finish_non_exhaustive()
    }
}
