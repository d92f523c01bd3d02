//! Checker of lists of log-probabilities.

use serde_json::Value;

use super::shape::{CheckedObject, FieldType};
use super::{Fault, Rule};

/// Checks the list `logprobs` of an event or part.
pub(super) fn check(fields: CheckedObject<'_>) -> Result<(), Fault> {
    fields.require(&[("logprobs", FieldType::List)])?;
    fields.list("logprobs")?.iter().try_for_each(|token| {
        let token = likelihood(token)?;
        token.require(&[("top_logprobs", FieldType::List)])?;
        token.list("top_logprobs")?.iter().try_for_each(|top| likelihood(top).map(drop))
    })
}

fn likelihood(token: &Value) -> Result<CheckedObject<'_>, Fault> {
    let token = CheckedObject::new(token, "logprob")?;
    token.require(&[("token", FieldType::Text), ("logprob", FieldType::Number)])?;
    match token.map["logprob"].as_f64() {
        Some(logprob) if logprob > 0.0 => {
            Err(Fault::new(Rule::Fields, "a logarithm of a probability is at most 0"))
        }
        _ => Ok(token),
    }
}
