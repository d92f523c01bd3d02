//! The list object: a page of what is stored.

use schemars::JsonSchema;
use serde::Serialize;
use store::StoredItem;

use super::raw::Json;

/// A page as clients get it. `data` are the stored bodies, which are JSON already: the object is
/// put together in [`json`] without parsing them.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "List")]
pub(crate) struct List<'a> {
    #[schemars(extend("const" = "list"))]
    object: &'static str,
    data: Vec<Json>,
    /// Id of the first element; null if there is none.
    first_id: Option<&'a str>,
    /// Id of the last element, behind which the next page begins.
    last_id: Option<&'a str>,
    has_more: bool,
}

/// The object as JSON; `more`: whether another page follows.
pub fn json(items: &[StoredItem], more: bool) -> Vec<u8> {
    let size: usize = items.iter().map(|item| item.body.len() + 1).sum();
    let mut text = Vec::with_capacity(size + 256);
    text.extend_from_slice(br#"{"object":"list","data":["#);
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        text.extend_from_slice(&item.body);
    }
    let id = |item: Option<&StoredItem>| Json::of(&item.map(|item| item.id.as_str())).into_string();
    let (first, last) = (id(items.first()), id(items.last()));
    let rest = format!(r#"],"first_id":{first},"last_id":{last},"has_more":{more}}}"#);
    text.extend_from_slice(rest.as_bytes());
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use store::StoredItem;

    fn read(items: &[StoredItem], more: bool) -> Value {
        serde_json::from_slice(&super::json(items, more)).unwrap()
    }

    #[test]
    fn a_list_has_its_bodies_and_the_ids_of_its_ends() {
        let item =
            |id: &str| StoredItem { id: id.to_owned(), body: json!({ "id": id }).to_string().into_bytes() };
        let list = read(&[item("a\"b"), item("c"), item("d")], true);
        let data = json!([{ "id": "a\"b" }, { "id": "c" }, { "id": "d" }]);
        assert_eq!(
            list,
            json!({ "object": "list", "data": data, "first_id": "a\"b", "last_id": "d", "has_more": true })
        );
        let empty =
            json!({ "object": "list", "data": [], "first_id": null, "last_id": null, "has_more": false });
        assert_eq!(read(&[], false), empty);
    }
}
