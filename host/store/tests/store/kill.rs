//! What is acknowledged stays: a process that writes under load is killed at random moments.
//!
//! This test's own binary runs again as that process, with [`ROLE`] set. `SLUICE_STORE_KILLS` says
//! how often it is killed.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use seeded::SplitMix64;
use store::{
    Bounds, Budget, End, Events, Finished, Link, Options, Owner, Response, Sqlite, State, Status, Store,
};

use crate::kit::{chunk, end, item, needs, new, parent, path, served};

const ROLE: &str = "STORE_TEST_ROLE";
const FILE: &str = "STORE_TEST_FILE";
pub(crate) const STREAMS: u64 = 50;

pub(crate) fn options() -> Options {
    // All streams are one owner's.
    Options {
        host: "child".into(),
        bounds: Bounds { running: 1000, ..Bounds::default() },
        ..Options::default()
    }
}

/// This test again, in a process that ignores the signal for a file that became too large.
pub(crate) fn child(role: &str, file: &Path) -> Child {
    Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" --exact kill::the_other_process --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env(ROLE, role)
        .env(FILE, file)
        // A pipe of its own: the caller's standard input may be at its end, and "hold" waits for that.
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The part of the other process; without a role there is nothing to do.
#[test]
fn the_other_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let file = std::env::var(FILE).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let store = Arc::new(Sqlite::open(Path::new(&file), &options()).unwrap());
    match role.as_str() {
        "load" => runtime.block_on(load(store)),
        "hold" => {
            acknowledge("holds", "", 0);
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        "disk" => runtime.block_on(crate::disk::failing_disk(&store)),
        _ => panic!("{role}"),
    }
}

pub(crate) fn acknowledge(what: &str, id: &str, number: u64) {
    // One write: a line is whole, or the process died.
    let line = format!("\nack {what} {id} {number}\n");
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).unwrap();
}

async fn load(store: Arc<Sqlite>) {
    let run = std::process::id();
    let streams = (0..STREAMS).map(|stream| {
        let store = store.clone();
        async move {
            let mut link = Link::Alone;
            for n in 0.. {
                let id = format!("{run}-{stream}-{n}");
                if (stream + n) % 2 == 0 {
                    foreground(&store, &id, link).await;
                    link = parent(&id);
                } else {
                    background(&store, &id).await;
                    link = Link::Alone;
                }
            }
        }
    });
    futures_util::future::join_all(streams).await;
}

pub(crate) fn alice() -> Owner {
    Owner::new("alice")
}

pub(crate) async fn foreground(store: &Sqlite, id: &str, link: Link) {
    let lease = store.create(&alice(), new(id, link)).await.unwrap();
    acknowledge("created", id, 0);
    store.finish(lease, end(Status::Completed, id)).await.unwrap();
    acknowledge("finished", id, 0);
}

/// Queues a response and runs one: this or another stream's.
async fn background(store: &Sqlite, id: &str) {
    store.enqueue(&alice(), &needs(), new(id, Link::Alone), chunk(0, 2).events).await.unwrap();
    acknowledge("created", id, 2);
    let Some(claimed) = store.claim(&served()).await.unwrap() else { return };
    let id = claimed.lease.id().to_owned();
    for first in [2, 12, 22] {
        store.append(&claimed.lease, chunk(first, 10)).await.unwrap();
        acknowledge("logged", &id, first + 10);
    }
    let last = End { last: Some(chunk(32, 5)), ..end(Status::Completed, &id) };
    assert_eq!(store.finish(claimed.lease, last).await.unwrap(), Finished::Now);
    acknowledge("finished", &id, 37);
}

/// What a process has acknowledged of a response.
#[derive(Default)]
struct Acknowledged {
    finished: bool,
    events: u64,
}

/// Kills a process after so many acknowledgements. Returns all that it made.
fn killed_after(file: &Path, count: usize) -> HashMap<String, Acknowledged> {
    let mut process = child("load", file);
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut all: HashMap<String, Acknowledged> = HashMap::new();
    let mut seen = 0;
    while let Some(Ok(line)) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        let &["ack", what, id, events] = words.as_slice() else { continue };
        let one = all.entry(id.to_owned()).or_default();
        one.finished |= what == "finished";
        one.events = one.events.max(events.parse().unwrap());
        seen += 1;
        if seen == count {
            process.kill().unwrap();
        }
    }
    process.wait().unwrap();
    assert!(seen >= count, "the process ended by itself after {seen} acknowledgements");
    all
}

pub(crate) async fn whole(store: &Sqlite, id: &str) -> Response {
    let response = store.response(&alice(), id, Budget::default()).await.unwrap();
    assert_eq!(response.request, format!("request {id}").into_bytes());
    let page = crate::kit::page(store::Order::Descending, 1, None);
    assert_eq!(
        store.items(&alice(), id, page, Budget::default()).await.unwrap().data,
        [item(&format!("{id}-in"))]
    );
    if let State::Ended(outcome) = &response.state {
        assert_eq!(outcome.result, format!("result {id}").into_bytes());
        assert_eq!(outcome.output, [item(&format!("{id}-out"))]);
    }
    response
}

/// Events of a log, each checked to be the one of its number.
async fn logged(store: &Sqlite, id: &str) -> u64 {
    match store.events_after(&alice(), id, None).await.unwrap() {
        Events::Log { chunk: read, .. } => {
            let count = read.events.len() as u64;
            assert_eq!(read, chunk(0, count));
            count
        }
        Events::Unlogged => 0,
        Events::Expired => panic!("{id}"),
    }
}

#[tokio::test]
async fn what_was_acknowledged_outlives_kill_9() {
    let kills = std::env::var("SLUICE_STORE_KILLS").map_or(50, |count| count.parse().unwrap());
    let mut folder = tempfile::tempdir().unwrap();
    let mut random = SplitMix64::new(std::process::id().into());
    for kill in 0..kills {
        if kill % 10 == 0 {
            folder = tempfile::tempdir().unwrap();
        }
        let acknowledged = killed_after(&path(&folder), 1 + random.below(600));
        let store = Sqlite::open(&path(&folder), &options()).unwrap();
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
        for (id, one) in acknowledged {
            let response = whole(&store, &id).await;
            assert!(!one.finished || matches!(response.state, State::Ended(_)), "{id}");
            assert!(logged(&store, &id).await >= one.events, "{id}");
        }
        end_orphans(&store).await;
    }
}

/// Ends what a killed process left, as a server does at its start.
async fn end_orphans(store: &Sqlite) {
    loop {
        let swept = store.sweep().await.unwrap();
        let claimed = store.claim(&served()).await.unwrap();
        if swept.is_empty() && claimed.is_none() {
            return;
        }
        for orphan in swept.into_iter().map(|swept| swept.lease).chain(claimed.map(|claimed| claimed.lease)) {
            let id = orphan.id().to_owned();
            whole(store, &id).await;
            logged(store, &id).await;
            store.finish(orphan, end(Status::Failed, &id)).await.unwrap();
        }
    }
}

#[test]
fn second_process_is_refused_until_the_first_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = child("hold", &path(&folder));
    let lines = BufReader::new(first.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.starts_with("ack holds")));
    assert!(store::is_in_use(&path(&folder)));
    let error = Sqlite::open(&path(&folder), &options()).err().unwrap().to_string();
    assert!(
        error.ends_with("another process has it open; stop that one, or give each a file of its own"),
        "{error}"
    );
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!store::is_in_use(&path(&folder)));
    Sqlite::open(&path(&folder), &options()).unwrap();
}
