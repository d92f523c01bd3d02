//! The status of an output item.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Status of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "OutputStatus")]
pub(super) enum Status {
    /// Open.
    InProgress,
    /// Whole.
    Completed,
    /// Cut off.
    Incomplete,
}
