//! Answers without sockets, by the room's own interface: what happens when a reader leaves, and
//! that an ended answer can still be read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api::agent::AnswerStream;
use api::{ApiRequest, Defaults, Protocol};
use model::Model;
use serde_json::{Value, json};
use server::answer::{Answer, EventLog, EventReader, Policy, ReadError, event_log};
use tests::path::replay_model;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const BODY: &[u8] = br#"{"model":"m","input":"x"}"#;
const PATIENCE: Duration = Duration::from_secs(30);

fn text() -> String {
    "Some words that take a while. ".repeat(40)
}

async fn answer(model: &Model) -> Answer {
    let ApiRequest { job, machine, .. } =
        Protocol::Responses.read(BODY, &Defaults::default()).expect("a request");
    let stream = AnswerStream::one(model.start_choices(job).await.expect("a turn"));
    let check = Some(Protocol::Responses.check());
    Answer::new(
        Arc::clone(model.metrics()),
        "req_1".into(),
        Instant::now(),
        stream,
        machine,
        check,
        &CancellationToken::new(),
    )
}

/// Starts an answer. Returns its log, a reader of it, and its task.
async fn start(model: &Model, policy: Policy) -> (EventLog, EventReader, JoinSet<()>) {
    let (log, reader) = event_log(policy);
    let (handle, reader) = (log.log(), EventReader::new(reader));
    let mut task = JoinSet::new();
    task.spawn(answer(model).await.run(log, PATIENCE, None));
    (handle, reader, task)
}

/// Reads to the end of the answer.
async fn rest(mut reader: EventReader) -> Result<Vec<Value>, ReadError> {
    let mut all = Vec::new();
    while let Some(event) = reader.next().await? {
        all.push(serde_json::from_slice(&event.json).expect("JSON"));
    }
    Ok(all)
}

#[tokio::test]
async fn an_answer_that_goes_on_is_whole_without_its_reader() {
    let (model, _folder) = replay_model(&text());
    let (log, mut reader, task) = start(&model, Policy::Continue { kept_bytes: usize::MAX }).await;
    let first = reader.next().await.unwrap().unwrap();
    assert_eq!((first.number, first.name), (0, Some("response.created")));
    drop(reader);
    task.join_all().await;
    let events = rest(EventReader::new(log.reader_from(0).unwrap())).await.unwrap();
    let numbers: Vec<u64> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let response = &events.last().unwrap()["response"];
    assert_eq!(response["output"][0]["content"][0]["text"], text().trim_end());
    assert_eq!(rest(EventReader::new(log.reader_from(7).unwrap())).await.unwrap(), &events[7..]);

    let (status, body) = answer(&model).await.whole().await;
    let mut body: Value = serde_json::from_str(&body).unwrap();
    for own in ["id", "created_at", "completed_at"] {
        body[own] = response[own].clone();
    }
    body["output"][0]["id"] = response["output"][0]["id"].clone();
    assert_eq!((status, &body), (200, response), "streamed and whole are equal");
}

#[tokio::test]
async fn a_cancelling_answer_ends_with_its_last_reader() {
    let (model, _folder) = replay_model(&text());
    let (log, mut reader, task) = start(&model, Policy::Cancel { queue: 2 }).await;
    let mut other = EventReader::new(log.reader_from(0).unwrap());
    reader.next().await.unwrap().unwrap();
    drop(reader);
    other.next().await.unwrap().unwrap();
    drop(other);
    task.join_all().await;
    let late = log.reader_from(1000).unwrap();
    assert_eq!(rest(EventReader::new(late)).await, Err(ReadError::BrokenOff), "it was cancelled");
}

#[tokio::test]
async fn a_late_reader_gets_the_rest() {
    let (model, _folder) = replay_model(&text());
    let (log, reader, task) = start(&model, Policy::Continue { kept_bytes: usize::MAX }).await;
    let follower = EventReader::new(log.reader_from(5).unwrap());
    let (all, tail) = tokio::join!(rest(reader), rest(follower));
    let (all, tail) = (all.unwrap(), tail.unwrap());
    task.join_all().await;
    assert_eq!(tail, &all[5..]);
    let deltas: String = all.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(json!(deltas), all.last().unwrap()["response"]["output"][0]["content"][0]["text"]);
}
