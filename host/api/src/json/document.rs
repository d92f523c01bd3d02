//! A body and the memory of its reading: its checked text, the places of its fields, the arena of
//! opened objects and resolved strings, the bound on their number of fields, and the names that
//! objects repeat.
//!
//! Invariant: a document owns all that it holds. So it goes from thread to thread and may wait in
//! between, which objects and values, that borrow from it, can't.

use std::cell::Cell;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bumpalo::Bump;
use bytes::Bytes;
use serde_json::value::RawValue;

use super::path::Path;
use super::scan;
use crate::error::ApiError;
use crate::limits::RequestLimits;

/// Most repeated names that are kept of one body.
const MAX_REPEATED: usize = 16;
/// Number of fields up to which names are compared with each other; those of larger objects are
/// sorted.
const FEW_FIELDS: usize = 16;

/// Paths of fields that opened objects repeat.
#[derive(Debug, Clone, Default)]
pub(crate) struct Repeated(Arc<Mutex<Vec<String>>>);

impl Repeated {
    /// Takes the paths so far.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Owner of a body's text, and of the memory that its reading takes.
pub struct Document {
    /// A JSON object that was checked whole.
    pub(super) text: Bytes,
    /// Places in the text of the object's names and values, so that it isn't cut into them again by
    /// each reader.
    pub(super) fields: Vec<[Range<usize>; 2]>,
    pub(super) arena: Bump,
    /// Number of fields that may still be laid out.
    fields_left: Cell<usize>,
    max_fields: usize,
    pub(super) max_depth: usize,
    repeated: Repeated,
}

impl Document {
    /// The text of the body's value, once its syntax was checked.
    pub(super) fn check(&self) -> Result<&str, ApiError> {
        let not_json = |error: &dyn std::fmt::Display| {
            ApiError::invalid(None, format!("body: not valid JSON: {error}")).with_code("invalid_json")
        };
        if scan::nests_deeper(&self.text, self.max_depth) {
            let message = format!("body: JSON is nested deeper than {} levels", self.max_depth);
            return Err(ApiError::invalid(None, message).with_code("invalid_json"));
        }
        let text = serde_json::from_slice::<&RawValue>(&self.text).map_err(|error| not_json(&error))?.get();
        match scan::lone_surrogate(text) {
            Some(at) => Err(not_json(&format_args!("half of a surrogate pair at byte {at}"))),
            None => Ok(text),
        }
    }

    /// The body's text.
    pub fn text(&self) -> &Bytes {
        &self.text
    }

    /// Gives back what readers have laid out so far.
    pub fn reset(&mut self) {
        self.arena.reset();
    }

    /// Size of the body, in bytes.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    /// A document of this text, which isn't checked yet.
    pub(super) fn new(text: Bytes, limits: &RequestLimits) -> Self {
        Self {
            text,
            fields: Vec::new(),
            arena: Bump::new(),
            fields_left: Cell::new(limits.json_fields),
            max_fields: limits.json_fields,
            max_depth: limits.json_depth,
            repeated: Repeated::default(),
        }
    }

    /// Paths of repeated fields so far.
    pub(super) fn repeated(&self) -> Repeated {
        self.repeated.clone()
    }

    /// Notes names that stand more than once among the fields of the object at `path`.
    pub(super) fn note_repeated<T>(&self, fields: &[(&str, T)], path: Path<'_>) {
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

    /// Notes a path once, however often its object is laid out.
    fn note(&self, path: Path<'_>) {
        let (mut repeated, path) = (self.repeated.lock(), path.to_string());
        if repeated.len() < MAX_REPEATED && !repeated.contains(&path) {
            repeated.push(path);
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
