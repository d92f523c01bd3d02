//! The store's figures (`docs/state.md`): commits per second, time added to a response, bytes per
//! token, resuming, long chains.
//!
//! `cargo run --profile dist -p store --example figures [FOLDER | postgres://USER@HOST/DATABASE]`: the
//! folder's disk is measured, by default the system's temporary one, or a database on this machine.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "it prints figures, or fails")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use store::{
    Bounds, Budget, Chunk, End, Events, Lease, Link, Needs, NewResponse, Options, Owner, Postgres,
    PostgresOptions, Served, Sqlite, Status, Store, StoredItem, Synchronous, TimeSource,
};

/// Where the store is that is measured.
#[derive(Clone)]
enum Place {
    File(PathBuf, Synchronous),
    Postgres(String),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(_, synchronous) => write!(f, "SQLite, {synchronous:?}"),
            Self::Postgres(_) => write!(f, "Postgres"),
        }
    }
}

fn main() {
    let place = std::env::args().nth(1);
    let places = match place {
        Some(url) if url.contains("://") => vec![Place::Postgres(url)],
        folder => {
            let folder = folder.map_or_else(std::env::temp_dir, PathBuf::from);
            [Synchronous::Normal, Synchronous::Full].map(|sync| Place::File(folder.clone(), sync)).to_vec()
        }
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        for place in &places {
            for writers in [1, 50, 500] {
                commits(place, writers, Duration::ZERO).await;
                commits(place, writers, Duration::from_secs(1)).await;
            }
            appends(place).await;
            takeover(place).await;
        }
        log(&places[0]).await;
        chain(&places[0]).await;
    });
}

/// An open store, and what goes when it isn't needed any more.
struct Opened {
    store: Arc<dyn Store>,
    _folder: Option<tempfile::TempDir>,
}

/// Opens a store in which all streams are claimed.
fn open(place: &Place) -> Opened {
    open_with(place, Bounds { running: 1000, ..Bounds::default() })
}

fn open_with(place: &Place, bounds: Bounds) -> Opened {
    match place {
        Place::File(folder, synchronous) => {
            let folder = tempfile::tempdir_in(folder).unwrap();
            let options =
                Options { host: "figures".into(), bounds, synchronous: *synchronous, ..Options::default() };
            let store = Sqlite::open(&folder.path().join("state.db"), &options).unwrap();
            Opened { store: Arc::new(store), _folder: Some(folder) }
        }
        Place::Postgres(url) => {
            static NUMBER: AtomicU64 = AtomicU64::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let options = PostgresOptions {
                host: "figures".into(),
                bounds,
                clock: TimeSource::default(),
                schema: format!("figures {} {number}", std::process::id()),
                password: std::env::var("PGPASSWORD").ok(),
                connections: 16,
                is_limited: true,
                tls: None,
            };
            Opened { store: Arc::new(Postgres::open(url, &options).unwrap()), _folder: None }
        }
    }
}

fn owner() -> Owner {
    Owner::new("local")
}

fn new(id: String, link: Link) -> NewResponse {
    let input = vec![StoredItem { id: format!("msg_{id}"), body: vec![b'i'; 400] }];
    NewResponse { id, link, request: vec![b'r'; 600], input }
}

async fn finish(store: &dyn Store, lease: Lease, last: Option<Chunk>) {
    let output = vec![StoredItem { id: format!("msg_o{}", lease.id()), body: vec![b'o'; 1200] }];
    let end = End { status: Status::Completed, result: vec![b'e'; 600], output, last };
    store.finish(lease, end).await.unwrap();
}

/// Writers that create and finish one response after the other, two transactions each, with a pause
/// between.
async fn commits(place: &Place, writers: u32, pause: Duration) {
    let opened = open(place);
    let start = Instant::now();
    let each = (0..writers).map(|writer| {
        let store = opened.store.clone();
        async move {
            let mut times = Vec::new();
            // Not all in step.
            tokio::time::sleep(pause * writer / writers).await;
            while start.elapsed() < Duration::from_secs(3) {
                let begun = Instant::now();
                let id = format!("resp_{writer:016}{:016}", times.len());
                let lease = store.create(&owner(), new(id, Link::Alone)).await.unwrap();
                finish(&*store, lease, None).await;
                times.push(begun.elapsed());
                tokio::time::sleep(pause).await;
            }
            times
        }
    });
    let mut times = futures_util::future::join_all(each).await.concat();
    let seconds = start.elapsed().as_secs_f64();
    times.sort_unstable();
    let millis = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e3;
    println!(
        "{place}, {writers} writers, {pause:?} between responses: {:.0} transactions/s; a response takes {:.2} ms (median), {:.2} ms (99 %)",
        2.0 * f64::from(u32::try_from(times.len()).unwrap()) / seconds,
        millis(50),
        millis(99)
    );
}

/// Fifty background responses of one owner that get chunks of 16 events as fast as they are stored.
async fn appends(place: &Place) {
    const STREAMS: u64 = 50;
    let opened = open(place);
    let (needs, served) = served();
    for number in 0..STREAMS {
        let new = new(format!("resp_{number}"), Link::Alone);
        opened.store.enqueue(&Owner::new("local"), &needs, new, vec![]).await.unwrap();
    }
    let mut leases = Vec::new();
    while let Some(claimed) = opened.store.claim(&served).await.unwrap() {
        leases.push(claimed.lease);
    }
    let start = Instant::now();
    let each = leases.iter().map(|lease| async {
        let mut first = 0;
        while start.elapsed() < Duration::from_secs(3) {
            let events = (first..first + 16).map(event).collect();
            opened.store.append(lease, Chunk { first, events }).await.unwrap();
            first += 16;
        }
        first / 16
    });
    let appended: u64 = futures_util::future::join_all(each).await.into_iter().sum();
    println!(
        "{place}, {} streams of one owner: {:.0} appends/s",
        leases.len(),
        f64::from(u32::try_from(appended).unwrap()) / start.elapsed().as_secs_f64()
    );
}

/// A thousand background responses of fifty owners that run with a log each: the question whether any has
/// grown, and their ends by another host once their leases have ended.
async fn takeover(place: &Place) {
    const LEASE: Duration = Duration::from_secs(10);
    let opened = open_with(place, Bounds { lease: LEASE, running: 1000, ..Bounds::default() });
    let store = &*opened.store;
    let (needs, served) = served();
    let mut positions = Vec::new();
    for number in 0..1000 {
        let (owner, id) = (Owner::new(&format!("owner {}", number % 50)), format!("resp_{number}"));
        store.enqueue(&owner, &needs, new(id.clone(), Link::Alone), vec![]).await.unwrap();
        let lease = store.claim(&served).await.unwrap().unwrap().lease;
        let events = (0..64).map(event).collect();
        store.append(&lease, Chunk { first: 0, events }).await.unwrap();
        let events = store.events_after(&owner, &id, Some(63)).await.unwrap();
        let Events::Log { position, .. } = events else { panic!("no log") };
        positions.push(position);
    }
    let mut times = Vec::new();
    for _ in 0..100 {
        let start = Instant::now();
        assert!(store.grown(positions.clone()).await.unwrap().is_empty());
        times.push(start.elapsed());
    }
    times.sort_unstable();
    println!(
        "{place}, 1000 followers: one question for all takes {:.2} ms (median)",
        times[50].as_secs_f64() * 1e3
    );
    tokio::time::sleep(LEASE).await;
    let (start, mut ended) = (Instant::now(), 0);
    while ended < 1000 {
        let swept = store.sweep().await.unwrap();
        ended += swept.len();
        let ends = swept.into_iter().map(|swept| async move {
            let (owner, id) = (swept.lease.owner().clone(), swept.lease.id().to_owned());
            store.response(&owner, &id, Budget::default()).await.unwrap();
            store.events_after(&owner, &id, None).await.unwrap();
            finish(store, swept.lease, Some(Chunk { first: 64, events: vec![event(64)] })).await;
        });
        futures_util::stream::iter(ends).for_each_concurrent(8, |end| end).await;
    }
    println!("{place}, 1000 responses of a lost host: ended in {:.1} s", start.elapsed().as_secs_f64());
}

fn served() -> (Needs, Served) {
    (Needs { model: "m".into(), version: 1 }, Served { models: vec!["m".into()], version: 1 })
}

fn event(number: u64) -> Vec<u8> {
    let words = ["the", "model", "writes", "a", "token", "and", "another", "one"];
    // Not the same word each time, so that it doesn't compress better than text does.
    let word = words[usize::try_from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61).unwrap()];
    format!(
        "{{\"type\":\"response.output_text.delta\",\"sequence_number\":{number},\"item_id\":\"msg_0123456789abcdef0123456789abcdef\",\
         \"output_index\":0,\"content_index\":0,\"delta\":\" {word}\",\"logprobs\":[]}}"
    )
    .into_bytes()
}

/// A background response of 100,064 events in chunks of 64.
async fn log(place: &Place) {
    const EVENTS: u64 = 100_064;
    let opened = open(place);
    let store = &*opened.store;
    let (needs, served) = served();
    store.enqueue(&owner(), &needs, new("resp_log".into(), Link::Alone), vec![]).await.unwrap();
    let lease = store.claim(&served).await.unwrap().unwrap().lease;
    let before = store.stats().await.unwrap();
    let (start, mut raw) = (Instant::now(), 0);
    for first in (0..EVENTS).step_by(64) {
        let events: Vec<Vec<u8>> = (first..EVENTS.min(first + 64)).map(event).collect();
        raw += events.iter().map(Vec::len).sum::<usize>();
        store.append(&lease, Chunk { first, events }).await.unwrap();
    }
    let took = start.elapsed();
    let after = store.stats().await.unwrap();
    let per_event =
        |bytes: u64| f64::from(u32::try_from(bytes).unwrap()) / f64::from(u32::try_from(EVENTS).unwrap());
    println!(
        "log of {EVENTS} events: {:.2} µs and {:.1} bytes of file each ({:.1} counted, {:.0} raw)",
        took.as_secs_f64() * 1e6 / f64::from(u32::try_from(EVENTS).unwrap()),
        per_event(after.file_bytes - before.file_bytes),
        per_event(after.owners[0].1 - before.owners[0].1),
        per_event(raw as u64)
    );
    finish(store, lease, None).await;
    for after in [0, 50_000, 100_000] {
        let start = Instant::now();
        let events = store.events_after(&owner(), "resp_log", Some(after)).await.unwrap();
        let Events::Log { chunk, .. } = events else { panic!("no log") };
        println!(
            "resuming after event {after}: {} events in {:.0} µs",
            chunk.events.len(),
            start.elapsed().as_secs_f64() * 1e6
        );
    }
}

async fn chain(place: &Place) {
    let opened = open(place);
    let store = &*opened.store;
    let mut link = Link::Alone;
    for length in 1..=1000 {
        let id = format!("resp_{length}");
        let start = Instant::now();
        let lease = store.create(&owner(), new(id.clone(), link)).await.unwrap();
        let created = start.elapsed();
        finish(store, lease, None).await;
        link = Link::Parent(id);
        if [250, 500, 1000].contains(&length) {
            let start = Instant::now();
            let context = store.context(&owner(), &link, Budget::default()).await.unwrap();
            println!(
                "chain of {length}: its context of {} items in {:.2} ms; created in {:.2} ms; {:.0} bytes of file a response",
                context.len(),
                start.elapsed().as_secs_f64() * 1e3,
                created.as_secs_f64() * 1e3,
                store.stats().await.unwrap().file_bytes / length
            );
        }
    }
}
