//! `host store export`: responses, chat completions and conversations as JSON lines, one each.
//!
//! A body is the JSON that it is; one that is no JSON is `{"base64": …}`.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::builder::NonEmptyStringValueParser;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use store::{
    Completion, EndedResponse, ExportedRecord, Link, Owner, Response, State, Status, StoredConversation,
    StoredItem,
};

use super::file::{StoreArgument, wait};

#[derive(clap::Args)]
pub(super) struct ExportArguments {
    /// Only what this owner, the name of a key, has stored.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    owner: Option<String>,
    #[command(flatten)]
    store: StoreArgument,
}

pub(super) fn run(arguments: &ExportArguments) -> anyhow::Result<ExitCode> {
    let store = arguments.store.open()?;
    let owner = arguments.owner.as_deref().map(Owner::new);
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut after = 0;
    while let Some((number, record)) = wait(store.export(owner.as_ref(), after))? {
        after = number;
        out.write_all(&line(&record)?)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A record as a line.
fn line(record: &ExportedRecord) -> serde_json::Result<Vec<u8>> {
    let mut line = match record {
        ExportedRecord::Response(owner, response, input) => {
            serde_json::to_vec(&ResponseLine::of(owner, response, input))
        }
        ExportedRecord::Completion(owner, completion, messages) => {
            serde_json::to_vec(&CompletionLine::of(owner, completion, messages))
        }
        ExportedRecord::Conversation(owner, conversation, items) => {
            serde_json::to_vec(&ConversationLine::of(owner, conversation, items))
        }
    }?;
    // A body may be JSON of several lines; inside of strings there are no line ends.
    line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    line.push(b'\n');
    Ok(line)
}

#[derive(Serialize)]
struct ResponseLine<'a> {
    object: &'static str,
    owner: &'a str,
    id: &'a str,
    status: &'static str,
    background: bool,
    created_ms: u64,
    ended_ms: Option<u64>,
    previous_response_id: Option<&'a str>,
    conversation: Option<&'a str>,
    request: Body<'a>,
    result: Option<Body<'a>>,
    input: Vec<ItemLine<'a>>,
    output: Vec<ItemLine<'a>>,
}

impl<'a> ResponseLine<'a> {
    fn of(owner: &'a Owner, response: &'a Response, input: &'a [StoredItem]) -> Self {
        let ended = match &response.state {
            State::Ended(outcome) => Some(outcome),
            State::Queued | State::Running(_) => None,
        };
        let (previous_response_id, conversation) = match &response.link {
            Link::Alone | Link::Thread => (None, None),
            Link::Parent(id) | Link::Turn(id) => (Some(id.as_str()), None),
            Link::Conversation(id) => (None, Some(id.as_str())),
        };
        Self {
            object: if matches!(response.link, Link::Thread | Link::Turn(_)) {
                "message"
            } else {
                "response"
            },
            owner: owner.name(),
            id: &response.id,
            status: status(&response.state),
            background: response.background,
            created_ms: response.created,
            ended_ms: ended.map(|ended| ended.at),
            previous_response_id,
            conversation,
            request: Body(&response.request),
            result: ended.map(|ended| Body(&ended.result)),
            input: ItemLine::all(input),
            output: ended.map(|ended| ItemLine::all(&ended.output)).unwrap_or_default(),
        }
    }
}

fn status(state: &State) -> &'static str {
    match state {
        State::Queued => "queued",
        State::Running(_) => "in_progress",
        State::Ended(EndedResponse { status, .. }) => match status {
            Status::Completed => "completed",
            Status::Incomplete => "incomplete",
            Status::Cancelled => "cancelled",
            Status::Failed => "failed",
        },
    }
}

#[derive(Serialize)]
struct CompletionLine<'a> {
    object: &'static str,
    owner: &'a str,
    id: &'a str,
    tags: Vec<(&'a str, &'a str)>,
    result: Body<'a>,
    messages: Vec<ItemLine<'a>>,
}

impl<'a> CompletionLine<'a> {
    fn of(owner: &'a Owner, completion: &'a Completion, messages: &'a [StoredItem]) -> Self {
        Self {
            object: "chat.completion",
            owner: owner.name(),
            id: &completion.id,
            tags: completion.tags.iter().map(|tag| (tag.name.as_str(), tag.value.as_str())).collect(),
            result: Body(&completion.result),
            messages: ItemLine::all(messages),
        }
    }
}

#[derive(Serialize)]
struct ConversationLine<'a> {
    object: &'static str,
    owner: &'a str,
    id: &'a str,
    created_ms: u64,
    metadata: Body<'a>,
    items: Vec<ItemLine<'a>>,
}

impl<'a> ConversationLine<'a> {
    fn of(owner: &'a Owner, conversation: &'a StoredConversation, items: &'a [StoredItem]) -> Self {
        Self {
            object: "conversation",
            owner: owner.name(),
            id: &conversation.id,
            created_ms: conversation.created,
            metadata: Body(&conversation.metadata),
            items: ItemLine::all(items),
        }
    }
}

#[derive(Serialize)]
struct ItemLine<'a> {
    id: &'a str,
    body: Body<'a>,
}

impl<'a> ItemLine<'a> {
    fn all(items: &'a [StoredItem]) -> Vec<Self> {
        items.iter().map(|item| Self { id: &item.id, body: Body(&item.body) }).collect()
    }
}

/// A body in the caller's format.
struct Body<'a>(&'a [u8]);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Bytes {
            base64: String,
        }
        match serde_json::from_slice::<&RawValue>(self.0) {
            Ok(json) => json.serialize(serializer),
            Err(_) => Bytes { base64: STANDARD.encode(self.0) }.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_whatever_its_bodies_are() {
        let item = |body: &[u8]| StoredItem { id: "i".to_owned(), body: body.to_vec() };
        let conversation = StoredConversation { id: "conv_1".to_owned(), created: 5, metadata: vec![] };
        let items = vec![item(b"{\n \"a\": 1.50,\r\n \"b\": \"\\n\"}"), item(b"\xff{")];
        let line = line(&ExportedRecord::Conversation(Owner::new("alice"), conversation, items)).unwrap();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "{\"object\":\"conversation\",\"owner\":\"alice\",\"id\":\"conv_1\",\"created_ms\":5,\"metadata\":{\"base64\":\"\"},\"items\":[\
             {\"id\":\"i\",\"body\":{  \"a\": 1.50,   \"b\": \"\\n\"}},{\"id\":\"i\",\"body\":{\"base64\":\"/3s=\"}}]}\n"
        );
    }
}
