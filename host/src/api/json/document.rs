//! Memory of a body's reading: the arena of opened objects and resolved strings, and the bound on their number of fields.

use std::cell::Cell;

use bumpalo::Bump;

use super::super::error::ApiError;
use super::Path;
use crate::limits::Limits;

/// Owner of the memory that the reading of one body takes.
pub(crate) struct Document {
    pub(super) arena: Bump,
    /// Number of fields that may still be laid out.
    fields_left: Cell<usize>,
    max_fields: usize,
    pub(super) max_depth: usize,
}

impl Document {
    /// An empty document, for one body.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            arena: Bump::new(),
            fields_left: Cell::new(limits.json_fields),
            max_fields: limits.json_fields,
            max_depth: limits.json_depth,
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
