//! Reader of `configuration_update` items. Each setting holds from the item's place on until a
//! later one replaces it, so the last one decides for the answer, before the request's own fields:
//! these are what the conversation began with, and clients repeat them in every request.

use super::fields;
use super::input_items::Input;
use crate::error::ApiError;
use crate::format::{self, AnswerFormat, Naming};
use crate::json::JsonObject;
use crate::limits::RequestLimits;

/// The settings that hold at the end of an input.
#[derive(Debug, Default)]
pub(super) struct ConfigurationUpdates {
    /// `reasoning.effort`.
    pub(super) effort: Option<String>,
    /// `text.format`.
    pub(super) format: Option<AnswerFormat>,
}

impl ConfigurationUpdates {
    /// Reads them from an input's items.
    ///
    /// # Errors
    /// 400 where an item has wrong values.
    pub(super) fn read(input: Input<'_>, limits: &RequestLimits) -> Result<Self, ApiError> {
        let mut updates = Self::default();
        for (path, item) in input.of_kind("configuration_update") {
            updates.take(JsonObject::new(item, path)?, limits)?;
        }
        Ok(updates)
    }

    fn take(&mut self, item: JsonObject<'_>, limits: &RequestLimits) -> Result<(), ApiError> {
        let (reasoning, text) = (item.get(fields::REASONING)?, item.get(fields::ANSWER_TEXT)?);
        if let Some(reasoning) = reasoning
            && let Some(effort) = reasoning.get(fields::EFFORT)?
        {
            self.effort = Some(effort.to_owned());
        }
        if let Some(text) = text {
            text.require(fields::FORMAT.required())?;
            self.format = Some(format::read(&text, fields::FORMAT, Naming::Named, limits)?);
        }
        Ok(())
    }
}
