//! What the checks of Chat Completions and Completions have in common: the head that every chunk
//! repeats, and the order of choices, usage and end.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::stream_rule::{Fault, Rule, check};

/// What was seen of one stream; `C` is what is kept of a choice.
#[derive(Debug, Default)]
pub(crate) struct ChunkCheck<C> {
    /// `id`, `object`, `created` and `model` of the chunk before.
    head: Option<[Value; 4]>,
    pub(crate) choices: BTreeMap<u64, C>,
    /// Whether usage or an error came: only `[DONE]` may follow.
    last: bool,
    failed: bool,
}

/// Checks one value of a chunk.
pub(crate) type ValueCheck = fn(&Value) -> Result<(), Fault>;

/// A choice that ends with its `finish_reason`.
pub(crate) trait Finishes {
    fn is_finished(&self) -> bool;
}

impl<C: Finishes> ChunkCheck<C> {
    /// Checks the chunk but for its choices, which it returns: its head against `object`, and its
    /// place. `error` and `usage` check what a last chunk has.
    pub(crate) fn chunk<'a>(
        &mut self,
        chunk: &'a Value,
        object: &str,
        [error, usage]: [ValueCheck; 2],
        faults: &mut Vec<Fault>,
    ) -> &'a [Value] {
        faults.extend(self.place(chunk, [error, usage]).err());
        if chunk.get("error").is_some() {
            return &[];
        }
        faults.extend(self.head(chunk, object).err());
        chunk["choices"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Adds what is missing at the end of the stream.
    pub(crate) fn finish(&self, faults: &mut Vec<Fault>) {
        faults.extend(self.finished("the stream ends").err());
    }

    fn place(&mut self, chunk: &Value, [error, usage]: [ValueCheck; 2]) -> Result<(), Fault> {
        let last = std::mem::take(&mut self.last);
        check(!last, Rule::Lifecycle, "something follows the last chunk")?;
        if let Some(failure) = chunk.get("error") {
            (self.failed, self.last) = (true, true);
            return error(failure);
        }
        let choices = chunk["choices"].as_array();
        let choices = choices.ok_or_else(|| Fault::new(Rule::Fields, "choices is not a list"))?;
        if choices.is_empty() {
            self.last = true;
            self.finished("usage comes")?;
            return usage(&chunk["usage"]);
        }
        Ok(())
    }

    fn head(&mut self, chunk: &Value, object: &str) -> Result<(), Fault> {
        let head = ["id", "object", "created", "model"].map(|field| chunk[field].clone());
        let [id, kind, created, model] = &head;
        let typed = id.as_str().is_some_and(|id| !id.is_empty()) && created.is_u64() && model.is_string();
        let right = typed && kind == object;
        check(right, Rule::Fields, "id, object, created or model is missing or wrong")?;
        let before = self.head.replace(head);
        check(before.is_none() || before == self.head, Rule::Identity, "id, created or model changes")
    }

    fn finished(&self, when: &str) -> Result<(), Fault> {
        if self.failed {
            return Ok(());
        }
        check(!self.choices.is_empty(), Rule::Lifecycle, &format!("{when} without a choice"))?;
        match self.choices.iter().find(|(_, choice)| !choice.is_finished()) {
            Some((index, _)) => Err(Fault::new(
                Rule::Lifecycle,
                format!("{when}, but the chunk with the finish_reason of choice {index} is missing"),
            )),
            None => Ok(()),
        }
    }
}
