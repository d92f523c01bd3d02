//! A parser bound to a tokenizer: what all its turns share.

use std::sync::Arc;

use super::markers::{MarkerError, MarkerTable};
use contract::{Descriptor, Trim};

/// What a turn knows of its parser's descriptor, for one tokenizer. Made once and shared by all
/// turns.
#[derive(Debug, Clone)]
pub struct Binding {
    pub(crate) parser: Box<str>,
    pub(crate) markers: Arc<MarkerTable>,
    /// Indices of the markers that end the model's turn: never shown, not even after a fault.
    pub(crate) stops: Box<[u32]>,
    pub(crate) trim: Trim,
    /// Whether a value that is left out makes its call incomplete
    /// ([`Descriptor::LEFT_OUT_VALUES`]).
    pub(crate) keeps_values: bool,
}

impl Binding {
    /// Binds a parser. `token_id` returns the id of a literal that is an added token of the
    /// tokenizer ([`MarkerTable::new`]).
    ///
    /// # Errors
    /// The descriptor's markers can't be used.
    pub fn new(
        descriptor: &Descriptor,
        token_id: impl Fn(&str) -> Option<u32>,
    ) -> Result<Arc<Self>, MarkerError> {
        let markers = MarkerTable::new(&descriptor.markers, token_id)?;
        Ok(Arc::new(Self {
            parser: descriptor.name.as_str().into(),
            markers: Arc::new(markers),
            stops: descriptor.stops.as_slice().into(),
            trim: descriptor.trim,
            keeps_values: descriptor.has(Descriptor::LEFT_OUT_VALUES),
        }))
    }

    /// Binds a parser to a source without token ids: all markers are found in the text.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn by_text(descriptor: &Descriptor) -> Result<Arc<Self>, MarkerError> {
        Self::new(descriptor, |_| None)
    }

    /// The markers for this tokenizer.
    pub fn markers(&self) -> &MarkerTable {
        &self.markers
    }
}
