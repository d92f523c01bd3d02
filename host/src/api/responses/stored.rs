//! Stored responses as clients read them: the object that was stored without its output, and the items of its output, become one object again.

use super::super::raw::{self, Json};
use crate::api::machine::Record;

/// Where the output stands in an object without one. No string before it can have these bytes, since quotes in strings are escaped.
const NO_OUTPUT: &[u8] = br#","output":[]"#;

/// The whole response of a stored `object` and the items of its `output`, as JSON text.
pub(crate) fn whole(object: &[u8], output: &[store::Item]) -> String {
    let at = object.windows(NO_OUTPUT.len()).position(|bytes| bytes == NO_OUTPUT);
    // What was stored by this server has an output.
    let (head, tail) = at.map_or((object, &[][..]), |at| object.split_at(at + NO_OUTPUT.len() - 1));
    let mut json = head.to_vec();
    for (index, item) in output.iter().enumerate() {
        if index > 0 {
            json.push(b',');
        }
        json.extend_from_slice(&item.body);
    }
    json.extend_from_slice(tail);
    String::from_utf8(json).unwrap_or_default()
}
