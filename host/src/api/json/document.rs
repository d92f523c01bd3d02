//! What is laid out of a body while it is read, and how much of it may be.

use std::cell::Cell;

use bumpalo::Bump;

use super::super::error::ApiError;
use super::Path;
use crate::limits::Limits;

/// Owner of what is laid out of a body while it is read.
pub(crate) struct Document {
    pub(super) arena: Bump,
    /// Fields that may yet be read.
    fields_left: Cell<usize>,
    max_fields: usize,
    pub(super) max_depth: usize,
}

impl Document {
    /// For one body.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            arena: Bump::new(),
            fields_left: Cell::new(limits.json_fields),
            max_fields: limits.json_fields,
            max_depth: limits.json_depth,
        }
    }

    /// Counts fields about to be laid out.
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
