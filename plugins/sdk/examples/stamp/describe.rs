//! What a component answers to `describe` without options, as JSON: the contents of the section
//! `sluice-descriptor`, by which the host chooses parsers without compiling them.
//!
//! It is the WIT result as serde writes one: `{"Ok": descriptor}`, or `{"Err": words}` of a parser
//! that needs options to describe itself. Flags are an object with a member `true` for each flag
//! that is set.

use std::error::Error;

use serde_json::{Map, Value, json};
use wasmtime::component::{Component, Linker, Val};
use wasmtime::{Engine, Store};

const INTERFACE: &str = "sluice:parser/parser@0.1.0";

/// Runs the component's `describe`.
pub(crate) fn describe(component: &[u8]) -> Result<String, Box<dyn Error>> {
    let engine = Engine::default();
    let component = Component::new(&engine, component)?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &component)?;
    let interface = instance.get_export_index(&mut store, None, INTERFACE);
    let describe = interface.and_then(|it| instance.get_export_index(&mut store, Some(&it), "describe"));
    let describe = describe.and_then(|it| instance.get_func(&mut store, it));
    let describe = describe.ok_or_else(|| format!("no describe in {INTERFACE}"))?;
    let mut answer = [Val::Bool(false)];
    describe.call(&mut store, &[Val::List(Vec::new())], &mut answer)?;
    let [answer] = answer;
    Ok(json(answer)?.to_string())
}

/// The JSON of a value; only kinds of values that a descriptor has are known.
fn json(value: Val) -> Result<Value, Box<dyn Error>> {
    let boxed = |value: Option<Box<Val>>| value.map_or(Ok(Value::Null), |value| json(*value));
    Ok(match value {
        Val::Bool(value) => value.into(),
        Val::U32(value) => value.into(),
        Val::String(value) => value.into(),
        Val::Option(value) => boxed(value)?,
        Val::Result(Ok(value)) => json!({ "Ok": boxed(value)? }),
        Val::Result(Err(value)) => json!({ "Err": boxed(value)? }),
        Val::List(values) | Val::Tuple(values) => values.into_iter().map(json).collect::<Result<_, _>>()?,
        Val::Flags(names) => Value::Object(names.into_iter().map(|name| (name, true.into())).collect()),
        Val::Record(fields) => {
            let field = |(name, value): (String, Val)| Ok((name.replace('-', "_"), json(value)?));
            Value::Object(fields.into_iter().map(field).collect::<Result<Map<_, _>, Box<dyn Error>>>()?)
        }
        other => return Err(format!("no part of a descriptor: {other:?}").into()),
    })
}
