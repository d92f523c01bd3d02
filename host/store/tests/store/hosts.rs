//! Two hosts that use one store at once: they queue, claim, append, stall, cancel each other's responses
//! and take them over, all in between each other. Whatever the order was, no event is lost or doubled,
//! nobody writes behind a successor, and each response has one end.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::future::join_all;
use seeded::SplitMix64;
use store::{
    Bounds, Budget, Chunk, End, Events, Finished, Lease, Link, Result, State, Status, Store, StoreError,
};

use crate::kit::{Kit, Place, each, end, needs, new, on, served};
use crate::postgres::{CutWay, Schema, pooler};

const RESPONSES: u64 = 40;
const ACTORS: u64 = 6;

/// What the hosts know together.
struct Game<'a> {
    kit: &'a Kit,
    /// Number of the next writer: one for each lease.
    writers: Cell<u64>,
    /// Events that were acknowledged, by response: writer and place.
    acknowledged: RefCell<HashMap<String, HashSet<(u64, u64)>>>,
    /// Who ended each response.
    ends: RefCell<HashMap<String, Vec<u64>>>,
}

/// Events that say who wrote them.
fn written(writer: u64, first: u64, count: u64) -> Chunk {
    Chunk { first, events: (first..first + count).map(|n| format!("{writer} {n}").into()).collect() }
}

impl Game<'_> {
    fn store(&self, host: u64) -> &dyn Store {
        if host == 0 { &*self.kit.store } else { &*self.kit.beside }
    }

    fn writer(&self) -> u64 {
        self.writers.replace(self.writers.get() + 1)
    }

    /// All events of a response.
    async fn log(&self, host: u64, id: &str) -> Vec<String> {
        let mut log: Vec<String> = Vec::new();
        loop {
            let after = (log.len() as u64).checked_sub(1);
            match self.store(host).events_after(&self.kit.owner, id, after).await.unwrap() {
                Events::Log { chunk, .. } if chunk.events.is_empty() => return log,
                Events::Log { chunk, .. } => {
                    log.extend(chunk.events.into_iter().map(|event| String::from_utf8(event).unwrap()));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Appends events, and again where the answer is lost.
    async fn append(
        &self,
        host: u64,
        lease: &Lease,
        chunk: &Chunk,
        writer: u64,
        is_lost: bool,
    ) -> Result<()> {
        for _ in 0..=u32::from(is_lost) {
            self.store(host).append(lease, chunk.clone()).await?;
        }
        let places = (chunk.first..).take(chunk.events.len()).map(|n| (writer, n));
        self.acknowledged.borrow_mut().entry(lease.id().to_owned()).or_default().extend(places);
        Ok(())
    }

    /// Ends a response with its log's last event, and again where the answer is lost.
    async fn end(&self, host: u64, lease: Lease, status: Status, first: u64, writer: u64, is_lost: bool) {
        let id = lease.id().to_owned();
        let end = || End { last: Some(written(writer, first, 1)), ..end(status, &id) };
        let ended = self.store(host).finish(lease.clone(), end()).await;
        match &ended {
            Ok(Finished::Now) => self.ends.borrow_mut().entry(id.clone()).or_default().push(writer),
            Ok(Finished::Before(_)) | Err(StoreError::LeaseLost) => {}
            Err(error) => panic!("{id}: {error}"),
        }
        if is_lost && ended == Ok(Finished::Now) {
            assert_eq!(self.store(host).finish(lease, end()).await, Ok(Finished::Now));
        }
    }

    /// Runs what is claimed, unless it stalls for ever.
    async fn run(&self, host: u64, random: &mut SplitMix64) {
        let Some(claimed) = self.store(host).claim(&served()).await.unwrap() else { return };
        let (writer, mut first) = (self.writer(), 2);
        for _ in 0..random.draw() % 9 {
            let chunk = written(writer, first, 1 + random.draw() % 5);
            let is_lost = random.draw().is_multiple_of(4);
            match self.append(host, &claimed.lease, &chunk, writer, is_lost).await {
                Ok(()) => first += chunk.events.len() as u64,
                Err(StoreError::LeaseLost) => return,
                Err(error) => panic!("{error}"),
            }
        }
        match random.draw() % 4 {
            0 => {}
            1 if first == 2 => drop(self.store(host).release(claimed.lease).await),
            odd => self.end(host, claimed.lease, Status::Completed, first, writer, odd == 2).await,
        }
    }

    async fn cancel(&self, host: u64, random: &mut SplitMix64) {
        let id = (random.draw() % RESPONSES).to_string();
        let Ok(Some(lease)) = self.store(host).fence(&self.kit.owner, &id).await else { return };
        let first = self.log(host, &id).await.len() as u64;
        self.end(host, lease, Status::Cancelled, first, self.writer(), random.draw().is_multiple_of(3)).await;
    }

    async fn sweep(&self, host: u64) {
        self.kit.clock.advance(Duration::from_secs(7));
        for swept in self.store(host).sweep().await.unwrap() {
            let first = self.log(host, swept.lease.id()).await.len() as u64;
            self.end(host, swept.lease, Status::Failed, first, self.writer(), false).await;
        }
    }

    async fn act(&self, actor: u64, seed: u64) {
        let (host, mut random) = (actor % 2, SplitMix64::new(seed + actor));
        while (self.ends.borrow().len() as u64) < RESPONSES {
            match random.draw() % 8 {
                0 => self.cancel(host, &mut random).await,
                1 => self.sweep(host).await,
                _ => self.run(host, &mut random).await,
            }
        }
    }

    /// What must hold of a response, whatever happened to it.
    async fn check(&self, id: &str) {
        let log: Vec<(u64, u64)> = self.log(0, id).await[2..]
            .iter()
            .map(|event| event.split_once(' ').unwrap())
            .map(|(writer, n)| (writer.parse().unwrap(), n.parse().unwrap()))
            .collect();
        assert!(log.iter().map(|(_, n)| *n).eq(2..2 + log.len() as u64), "{id}: {log:?}");
        let mut writers: Vec<u64> = log.iter().map(|(writer, _)| *writer).collect();
        writers.dedup();
        assert_eq!(writers.len(), writers.iter().collect::<HashSet<_>>().len(), "{id}: {log:?}");
        let there: HashSet<_> = log.iter().copied().collect();
        let acknowledged = self.acknowledged.borrow().get(id).cloned().unwrap_or_default();
        assert!(acknowledged.is_subset(&there), "{id}: {log:?}");
        assert_eq!(self.ends.borrow()[id], [log.last().unwrap().0], "{id}: one end, the last event");
        let read = self.store(1).response(&self.kit.owner, id, Budget::default()).await.unwrap();
        assert!(matches!(read.state, State::Ended(_)));
    }
}

async fn play(kit: &Kit, seeds: u64) {
    for seed in 0..seeds {
        for id in 0..RESPONSES {
            let new = new(&id.to_string(), Link::Alone);
            let log = written(u64::MAX, 0, 2).events;
            kit.store.enqueue(&kit.owner, &needs(), new, log).await.unwrap();
        }
        let game = Game {
            kit,
            writers: Cell::default(),
            acknowledged: RefCell::default(),
            ends: RefCell::default(),
        };
        join_all((0..ACTORS).map(|actor| game.act(actor, seed * ACTORS))).await;
        for id in 0..RESPONSES {
            game.check(&id.to_string()).await;
            kit.store.delete(&kit.owner, &id.to_string()).await.unwrap();
        }
    }
}

fn bounds() -> Bounds {
    Bounds { running: 100, queued: RESPONSES, ..Bounds::default() }
}

#[tokio::test]
async fn hosts_at_once_lose_and_double_nothing() {
    each(bounds(), async |kit| play(kit, 5).await).await;
}

/// A host that was about to claim a response took it from the one that had fenced it to end it.
#[tokio::test]
async fn nobody_claims_what_was_fenced() {
    each(bounds(), async |kit| {
        for round in 0..100 {
            let id = round.to_string();
            kit.store.enqueue(&kit.owner, &needs(), new(&id, Link::Alone), vec![]).await.unwrap();
            let claims = join_all((0..4).map(|_| kit.beside.claim(&served())));
            let (fenced, claims) = tokio::join!(kit.store.fence(&kit.owner, &id), claims);
            let lease = fenced.unwrap().unwrap();
            for claimed in claims.into_iter().filter_map(Result::unwrap) {
                let written = kit.beside.append(&claimed.lease, written(1, 0, 1)).await;
                assert_eq!(written, Err(StoreError::LeaseLost), "in round {round}");
            }
            kit.store.finish(lease, end(Status::Cancelled, &id)).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn hosts_whose_commits_are_cut_lose_and_double_nothing() {
    let Some(schema) = Schema::new() else { return };
    let way = CutWay::new(schema.url());
    on(Place::Postgres(schema.through(way.url())), &bounds(), &async |kit: &mut Kit| play(kit, 3).await)
        .await;
    assert!(way.cuts() > 50, "{}", way.cuts());
}

#[tokio::test]
async fn hosts_behind_a_pooler_lose_and_double_nothing() {
    let (Some(schema), Some(pooler)) = (Schema::new(), pooler()) else { return };
    let place = Place::Postgres(schema.through(pooler));
    on(place, &bounds(), &async |kit: &mut Kit| play(kit, 2).await).await;
}
