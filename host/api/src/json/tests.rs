//! Tests of bodies as readers see them.

use super::{Document, Field, JsonObject, List, Path, Value};
use crate::error::ApiError;
use crate::fields::Shape;
use crate::limits::RequestLimits;

fn document(body: &str) -> Result<Document, ApiError> {
    Document::read(body.to_owned().into(), &RequestLimits::default())
}

/// Calls `read` with the opened body.
fn with_body<T>(body: &str, read: impl FnOnce(JsonObject<'_>) -> T) -> T {
    read(document(body).unwrap_or_else(|error| panic!("{error}")).body())
}

fn refusal(body: &str) -> String {
    document(body).unwrap_err().message
}

#[test]
fn nesting_is_bounded_and_string_brackets_are_free() {
    let deep = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
    with_body(&deep(63), |_| ());
    assert_eq!(refusal(&deep(64)), "body: JSON is nested deeper than 64 levels");
    with_body(&format!("{{\"a\":\"{}\\\"{}\"}}", "[".repeat(100), "{".repeat(100)), |_| ());
}

#[test]
fn bad_json_and_other_values_are_named() {
    assert!(refusal("{\"a\":").starts_with("body: not valid JSON: EOF"));
    assert_eq!(refusal("[]"), "body: expected a JSON object, got list");
    assert!(refusal("\u{0}").starts_with("body: not valid JSON"));
    assert!(refusal("{} {}").starts_with("body: not valid JSON: trailing characters"));
    let half = "body: not valid JSON: half of a surrogate pair at byte 6";
    for text in [r#"{"a":"\ud83d"}"#, r#"{"a":"\ude00"}"#, r#"{"a":"\ud83d\n"}"#, r#"{"a":"\ud83d\ud83d"}"#] {
        assert_eq!(refusal(text), half, "{text}");
    }
    assert!(Document::read(b"{\"a\":\"\xff\"}"[..].into(), &RequestLimits::default()).is_err());
}

#[test]
fn errors_name_the_path_and_both_types() {
    with_body(r#"{"input":[{"content":5,"n":7,"t":9.5}]}"#, |body| {
        let list = body.list(Field::new("input", "")).unwrap();
        let item = list.objects().next().unwrap().unwrap();
        let error = item.get(Field::<&str>::new("content", "")).unwrap_err();
        assert_eq!(error.message, "input[0].content: expected a string, got number");
        assert_eq!(error.param.as_deref(), Some("input[0].content"));
        let error = item.get(Field::<u32>::new("n", "").of(Shape::Integer(0, 5))).unwrap_err();
        assert_eq!(error.message, "input[0].n: expected an integer from 0 to 5, got 7");
        let error = item.get(Field::<f64>::new("t", "").of(Shape::Number(0.0, 2.0))).unwrap_err();
        assert_eq!(error.message, "input[0].t: expected a number from 0 to 2, got 9.5");
        let missing = item.require(Field::<&str>::new("x", "").required()).unwrap_err();
        assert_eq!(missing.message, "input[0].x: missing: expected a string");
    });
}

#[test]
fn names_from_the_request_are_made_printable() {
    let path = Path::Body;
    assert_eq!(path.field("a\nb\u{1F600}").to_string(), "a?b?");
}

#[test]
fn values_are_those_that_serde_json_reads() {
    let text = r#" { "a" : [ 1 , -2.5e3 , "x\u00e9\ud83d\ude00\n\"]," , true , null , { } , [ ] , {"k":{"n":[1]}} ] ,
        "\u0062" : "c" , "a2":{"x":"}"} } "#;
    let expected: serde_json::Value = serde_json::from_str(text).unwrap();
    with_body(text, |body| {
        assert_eq!(body.fields().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b", "a2"]);
        for (name, value) in body.fields() {
            assert_eq!(same(value), expected[name], "{name}");
            let json = value.to_json().into_string();
            assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), expected[name]);
            assert!(!json.contains([' ', '\n']), "{json}");
        }
        assert_eq!(body.get(Field::<&str>::new("b", "")).unwrap(), Some("c"));
    });
}

/// `value` as serde's type, built through the access that readers have.
fn same(value: Value<'_>) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(flag) => flag.into(),
        Value::Number(_) => match value.as_integer() {
            Some(integer) => integer.into(),
            None => value.as_float().unwrap().into(),
        },
        Value::String(text) => text.get().into(),
        Value::List(list) => list.iter().map(same).collect(),
        Value::Object(_) => {
            let object = JsonObject::new(value, Path::Body).unwrap();
            object.fields().map(|(name, value)| (name.to_owned(), same(value))).collect()
        }
    }
}

#[test]
fn of_fields_of_one_name_the_last_counts() {
    with_body(r#"{"a": 1, "\u0061": 2, "b": {"x": 1, "x": null}}"#, |body| {
        assert_eq!(body.get(Field::<u32>::new("a", "")).unwrap(), Some(2));
        let (outer, inner) = (Field::<JsonObject<'_>>::new("b", ""), Field::<&str>::new("x", ""));
        assert!(body.get(outer).unwrap().unwrap().value(inner).is_none());
        assert!(body.value(outer).unwrap().field(inner).unwrap().is_null());
        assert!(body.value(outer).unwrap().field(Field::<&str>::new("y", "")).is_none());
    });
}

#[test]
fn fields_are_counted_before_they_are_laid_out() {
    let limits = RequestLimits { json_fields: 3, ..RequestLimits::default() };
    let read = |body: &str| {
        let document = Document::read(body.to_owned().into(), &limits)?;
        document.body().get(Field::<JsonObject<'_>>::new("a", "")).map(|_| ())
    };
    assert!(read(r#"{"a":{"b":1,"c":{"d":1,"e":2,"f":3}}}"#).is_ok());
    let error = read(r#"{"a":{"b":1,"c":2,"d":3}}"#).unwrap_err();
    assert_eq!(error.message, "a: with this the request has more than 3 fields to read, schemas apart");
    let error = read(r#"{"a":{},"b":1,"c":2,"d":3}"#).unwrap_err();
    assert_eq!(error.message, "body: with this the request has more than 3 fields to read, schemas apart");
}

#[test]
fn lists_are_looked_at_no_further_than_need_be() {
    with_body(r#"{"a":[ ],"b":[1,[2,3],{"c":[4]}]}"#, |body| {
        let list = |name| Field::<List<'_>>::new(name, "");
        let (none, some) = (body.list(list("a")).unwrap(), body.list(list("b")).unwrap());
        assert!(none.elements.is_empty() && !none.elements.is_longer_than(0));
        assert!(
            some.elements.is_longer_than(2) && !some.elements.is_longer_than(3) && some.elements.len() == 3
        );
        assert!(body.list(list("c")).unwrap().elements.is_empty());
        assert_eq!(body.value(list("b")).unwrap().count(), 9);
        assert_eq!(body.value(list("a")).unwrap().count(), 2);
    });
}

#[test]
fn repeated_names_are_kept_up_to_a_number() {
    let repeated = |body: &str| with_body(body, |body| body.repeated().take());
    assert_eq!(repeated(r#"{"a":1,"b":2}"#), [""; 0]);
    assert_eq!(repeated(r#"{"a":1,"b":2,"\u0061":3,"a":4}"#), ["a"]);
    let large = |last: &str| {
        let fields: Vec<String> = (0..3000).map(|at| format!(r#""f{at}":0"#)).collect();
        format!("{{{},{last}}}", fields.join(","))
    };
    assert_eq!(repeated(&large(r#""g":0"#)), [""; 0]);
    assert_eq!(repeated(&large(r#""f1234":0"#)), ["f1234"]);
    let twice: Vec<String> = (0..40).map(|at| format!(r#""f{}":0"#, at / 2)).collect();
    assert_eq!(repeated(&format!("{{{}}}", twice.join(","))).len(), 16);
}
