//! The sum of a response's events: folded one by one, they give the response, at its end and on the
//! way.

use serde_json::Value;

/// Fields of an item that deltas fill.
const FILLED: [&str; 5] = ["content", "summary", "arguments", "input", "code"];

/// Where the commands of a shell's call are.
const COMMANDS: &str = "/action/commands";

/// The response so far.
#[derive(Debug, Default)]
pub struct Fold {
    response: Value,
    /// The items of its output.
    items: Vec<ItemSoFar>,
}

/// An item as its events add it up.
#[derive(Debug)]
pub struct ItemSoFar {
    /// The item.
    pub item: Value,
    /// Whether it has ended.
    pub is_done: bool,
}

impl Fold {
    /// Adds an event.
    ///
    /// # Errors
    /// Says what doesn't fit to the events before it.
    pub fn add(&mut self, event: &Value) -> Result<(), String> {
        let kind = event["type"].as_str().ok_or("no type")?;
        if let Some(response) = event.get("response") {
            return self.response(response);
        }
        if kind == "response.output_item.added" {
            self.items.push(ItemSoFar { item: event["item"].clone(), is_done: false });
            return Ok(());
        }
        let Some(index) = event["output_index"].as_u64() else { return Ok(()) };
        let place = usize::try_from(index).ok().and_then(|index| self.items.get_mut(index));
        let ItemSoFar { item, is_done } = place.ok_or("an item that wasn't added")?;
        if kind == "response.output_item.done" {
            *is_done = true;
            return finish(item, &event["item"]);
        }
        extend(item, kind, event)
    }

    /// The response as its events said it last, with the output that they add up to.
    pub fn whole(mut self) -> Value {
        self.response["output"] = self.output();
        self.response
    }

    /// The items that are done.
    pub(super) fn output(&self) -> Value {
        self.done().cloned().collect()
    }

    fn done(&self) -> impl Iterator<Item = &Value> {
        self.items.iter().filter(|one| one.is_done).map(|one| &one.item)
    }

    /// All items so far.
    pub fn items(&self) -> &[ItemSoFar] {
        &self.items
    }

    /// Takes the response that an event carries, whose output must be that of the events so far.
    fn response(&mut self, response: &Value) -> Result<(), String> {
        let ended = !["queued", "in_progress"].contains(&response["status"].as_str().unwrap_or_default());
        let done: Vec<&Value> = self.done().collect();
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
}

/// Adds a part, or text, to an item.
fn extend(item: &mut Value, kind: &str, event: &Value) -> Result<(), String> {
    let series = if event.get("summary_index").is_some() { "summary" } else { "content" };
    if kind.ends_with("part.added") {
        item[series].as_array_mut().ok_or("no parts")?.push(event["part"].clone());
        return Ok(());
    }
    if let Some(verb) = kind.strip_prefix("response.shell_call_command.") {
        return command(item, verb, event);
    }
    let Some(delta) = event["delta"].as_str() else { return Ok(()) };
    let place = if kind.contains("text.delta") {
        item.pointer_mut(&format!("/{series}/0/text"))
    } else {
        let field = FILLED[2..].iter().find(|field| item.get(**field).is_some());
        field.map(|field| &mut item[*field])
    };
    append(place.ok_or("no text")?, delta)?;
    if let Some(more) = event["logprobs"].as_array() {
        let all = item.pointer_mut("/content/0/logprobs").and_then(Value::as_array_mut);
        all.ok_or("no logprobs")?.extend(more.clone());
    }
    Ok(())
}

/// Adds a command, or text of one, to a shell's call.
fn command(item: &mut Value, verb: &str, event: &Value) -> Result<(), String> {
    let commands = item.pointer_mut(COMMANDS).and_then(Value::as_array_mut).ok_or("no commands")?;
    if verb == "added" {
        commands.push(event["command"].clone());
        return Ok(());
    }
    let Some(delta) = event["delta"].as_str() else { return Ok(()) };
    let index = event["command_index"].as_u64().and_then(|index| usize::try_from(index).ok());
    let command = index.and_then(|index| commands.get_mut(index)).ok_or("a command that wasn't added")?;
    append(command, delta)
}

fn append(text: &mut Value, delta: &str) -> Result<(), String> {
    let Value::String(text) = text else { return Err("no text".to_owned()) };
    text.push_str(delta);
    Ok(())
}

/// Compares the item with what its events add up to, and takes what only the finished one has.
fn finish(item: &mut Value, done: &Value) -> Result<(), String> {
    for field in FILLED {
        let (sum, said) = (item.get(field), done.get(field));
        if sum != said {
            return Err(format!("{field} is {said:?}, and its events add up to {sum:?}"));
        }
    }
    let (sum, said) = (item.pointer(COMMANDS), done.pointer(COMMANDS));
    if sum != said {
        return Err(format!("the commands are {said:?}, and their events add up to {sum:?}"));
    }
    *item = done.clone();
    Ok(())
}
