//! Test that the events of a response add up to the response: folded one by one, they give what its end and the answer in one piece say,
//! and on the way what each repeated `response.in_progress` says.

use std::path::Path;

use serde_json::{Value, json};

use super::random_turns::events;

/// Fields of an item that deltas fill.
const FILLED: [&str; 5] = ["content", "summary", "arguments", "input", "code"];

/// The response so far. `items` are those of its output, finished or not.
#[derive(Default)]
pub(super) struct Fold {
    response: Value,
    items: Vec<(Value, bool)>,
}

impl Fold {
    /// Adds an event. An error says what doesn't fit to the events before it.
    pub(super) fn add(&mut self, event: &Value) -> Result<(), String> {
        let kind = event["type"].as_str().ok_or("no type")?;
        if let Some(response) = event.get("response") {
            return self.response(response);
        }
        if kind == "response.output_item.added" {
            self.items.push((event["item"].clone(), false));
            return Ok(());
        }
        let Some(index) = event["output_index"].as_u64() else { return Ok(()) };
        let (item, done) =
            self.items.get_mut(usize::try_from(index).unwrap()).ok_or("an item that wasn't added")?;
        if kind == "response.output_item.done" {
            *done = true;
            return finish(item, &event["item"]);
        }
        let series = if event.get("summary_index").is_some() { "summary" } else { "content" };
        if kind.ends_with("part.added") {
            item[series].as_array_mut().ok_or("no parts")?.push(event["part"].clone());
        } else if let Some(delta) = event["delta"].as_str() {
            let place = if kind.contains("text.delta") {
                item.pointer_mut(&format!("/{series}/0/text"))
            } else {
                let field = FILLED[2..].iter().find(|field| item.get(**field).is_some());
                field.map(|field| &mut item[*field])
            };
            let place = place.ok_or("no text")?;
            *place = json!(format!("{}{delta}", place.as_str().ok_or("no text")?));
            if let Some(more) = event["logprobs"].as_array() {
                let all = item.pointer_mut("/content/0/logprobs").and_then(Value::as_array_mut);
                all.ok_or("no logprobs")?.extend(more.clone());
            }
        }
        Ok(())
    }

    /// Takes the response that an event carries, whose output must be that of the events so far.
    fn response(&mut self, response: &Value) -> Result<(), String> {
        let ended = response["status"] != "in_progress";
        let done: Vec<&Value> = self.items.iter().filter(|(_, done)| *done).map(|(item, _)| item).collect();
        // Items that the server runs join the output when they begin.
        let is_done = |item: &&Value| ended || done.iter().any(|done| done["id"] == item["id"]);
        let said = response["output"].as_array().ok_or("no output")?;
        let said: Vec<&Value> = said.iter().filter(is_done).collect();
        if said != done {
            return Err(format!("the output is {said:?}, and its events add up to {done:?}"));
        }
        self.response = response.clone();
        Ok(())
    }

    /// The response, with the output that its events add up to.
    pub(super) fn whole(mut self) -> Value {
        self.response["output"] = self.items.into_iter().map(|(item, _)| item).collect();
        self.response
    }
}

/// Compares the item with what its events add up to, and takes what only the finished one has.
fn finish(item: &mut Value, done: &Value) -> Result<(), String> {
    for field in FILLED {
        if item.get(field) != done.get(field) {
            return Err(format!(
                "{field} is {:?}, and its events add up to {:?}",
                done.get(field),
                item.get(field)
            ));
        }
    }
    *item = done.clone();
    Ok(())
}

pub(super) fn fold(events: &[Value]) -> Result<Value, String> {
    let mut fold = Fold::default();
    events.iter().try_for_each(|event| fold.add(event))?;
    Ok(fold.whole())
}

/// Name, events and body of each recorded response.
fn recorded() -> Vec<(String, Vec<Value>, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api/testdata");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.starts_with("responses-") || path.extension().is_none_or(|extension| extension != "sse") {
            continue;
        }
        let stream = std::fs::read_to_string(&path).unwrap();
        let body = std::fs::read_to_string(path.with_extension("json")).unwrap();
        let (_, body) = body.split_once('\n').unwrap();
        all.push((name, events(&stream), serde_json::from_str(body).unwrap()));
    }
    assert!(all.len() >= 16, "{} responses: where are they?", all.len());
    all
}

#[test]
fn events_of_a_response_add_up_to_it() {
    for (name, events, body) in recorded() {
        assert_eq!(fold(&events), Ok(body), "{name}");
    }
}

#[test]
fn a_response_that_lacks_an_event_does_not_add_up() {
    let mut left_out = 0;
    for (name, events, body) in recorded() {
        for (number, event) in events.iter().enumerate() {
            let kind = event["type"].as_str().unwrap();
            if event.get("delta").is_none() && !kind.ends_with("part.added") && !kind.contains("output_item")
            {
                continue;
            }
            let mut fewer = events.clone();
            fewer.remove(number);
            assert_ne!(fold(&fewer).as_ref(), Ok(&body), "{name}: event {number}, {kind}");
            left_out += 1;
        }
    }
    assert!(left_out > 100, "{left_out} events left out");
}
