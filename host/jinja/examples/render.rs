//! Renders a chat template with the variables of a JSON object, and shows what of the text the
//! template wrote and what the request.
//!
//! ```sh
//! cargo run --release -p jinja --example render -- chat_template.jinja variables.json
//! ```
#![expect(clippy::print_stdout, reason = "the output")]

use std::collections::HashMap;
use std::error::Error;

use jinja::{Limits, Origin, Template, Value};
use serde_json::value::RawValue;

fn main() -> Result<(), Box<dyn Error>> {
    let [template, variables] = &std::env::args().skip(1).collect::<Vec<_>>()[..] else {
        return Err("usage: render TEMPLATE.jinja VARIABLES.json".into());
    };
    let template = Template::parse(&std::fs::read_to_string(template)?)?;
    let variables = std::fs::read_to_string(variables)?;
    let variables: HashMap<&str, &RawValue> = serde_json::from_str(&variables)?;
    let variables = variables
        .iter()
        .map(|(name, json)| Ok((*name, Value::from_json(json.get(), Origin::Request)?)))
        .collect::<Result<_, Box<dyn Error>>>()?;
    let limits = Limits { text_bytes: 1 << 20, is_exhausted: &|| false };
    let output = template.render(variables, &limits)?;
    for (origin, text) in output.text.runs() {
        println!("{:8} {text:?}", format!("{origin:?}"));
    }
    Ok(())
}
