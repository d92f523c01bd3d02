//! Fields of searches of the web: the tool, a search, and what it found.

use super::{CALL_INPUT, ID, NAME, RESULT_CONTENT, TOOL_NAME, TOOL_USE_ID};
use crate::fields::{Field, Required, Row, Shape, table};
use crate::tools::{ALLOWED_DOMAINS, BLOCKED_DOMAINS};

/// Name of the tool, and its type without the date.
pub(in crate::messages) const WEB_SEARCH: &str = "web_search";

table! {
    pub(in crate::messages) SEARCH_TOOL {
        TOOL_NAME;
        MAX_USES: Field<u32> =
            Field::new("max_uses", "of all tools that the server runs for the request").of(Shape::Integer(1, i64::MAX));
        ALLOWED_DOMAINS;
        BLOCKED_DOMAINS;
        Row::ignored("response_inclusion", "results come with the search");
        Row::ignored("strict", "the server runs the search");
        Row::warned("user_location", "the operator's server decides");
    }
}

const CALLER: Row = Row::ignored("caller", "the model sees the call, whoever made it");

/// A search.
pub(super) const SEARCH_CALL: &[Row] =
    &[ID.row(), NAME.of(Shape::OneOf(&[WEB_SEARCH])).row(), CALL_INPUT.row(), CALLER];

/// What it found.
pub(super) const SEARCHED: &[Row] = &[TOOL_USE_ID.row(), RESULT_CONTENT.row(), CALLER];

/// Of a result: what the model reads, and where it was found.
pub(in crate::messages) const SEALED_RESULT: Required<&str> = Field::new("encrypted_content", "").required();
pub(in crate::messages) const RESULT_URL: Field<&str> = Field::new("url", "");
/// Of a search that failed.
pub(in crate::messages) const ERROR_CODE: Required<&str> = Field::new("error_code", "").required();
