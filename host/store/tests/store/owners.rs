//! Hosts at once for several owners in a store that is too small for them: everything is created, read,
//! ended, changed, deleted and evicted in between each other. No call fails but by what it may be told, and
//! in the end all that tables promise each other holds (`kit::on` checks it).

use std::time::Duration;

use futures_util::future::join_all;
use seeded::SplitMix64;
use store::{
    Bounds, Budget, CompletionTag, Lease, Link, NewCompletion, Owner, Page, Result, Status, Store, StoreError,
};

use crate::kit::{Kit, chunk, conversation, each, end, item, needs, new, parent, served};

const ACTORS: u64 = 6;
const STEPS: u64 = 150;
const NAMES: u64 = 8;

/// A host's actor, with the leases that it has.
struct Actor<'a> {
    kit: &'a Kit,
    store: &'a dyn Store,
    random: SplitMix64,
    leases: Vec<Lease>,
}

/// What a call says that isn't the store's failure.
fn may_be<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(done) => Some(done),
        Err(StoreError::Unavailable(why)) => panic!("{why}"),
        Err(_) => None,
    }
}

impl Actor<'_> {
    fn draw(&mut self, below: u64) -> u64 {
        self.random.draw() % below
    }

    fn owner(&mut self) -> Owner {
        Owner::new(["alice", "bob", "carol"][usize::try_from(self.draw(3)).unwrap()])
    }

    fn name(&mut self, kind: &str) -> String {
        format!("{kind}{}", self.draw(NAMES))
    }

    async fn step(&mut self) {
        let (owner, store) = (self.owner(), self.store);
        match self.draw(16) {
            0..=3 => {
                let link = match self.draw(4) {
                    0 => parent(&self.name("r")),
                    1 => conversation(&self.name("v")),
                    _ => Link::Alone,
                };
                let new = new(&self.name("r"), link);
                self.leases.extend(may_be(store.create(&owner, new).await));
            }
            4 => {
                let new = new(&self.name("r"), Link::Alone);
                may_be(store.enqueue(&owner, &needs(), new, chunk(0, 2).events).await);
            }
            5 => {
                let claimed = may_be(store.claim(&served()).await).flatten();
                if let Some(claimed) = claimed {
                    may_be(store.append(&claimed.lease, chunk(2, 3)).await);
                    self.leases.push(claimed.lease);
                }
            }
            6..=8 if !self.leases.is_empty() => {
                let lease = self.leases.swap_remove(0);
                let status = if self.draw(3) == 0 { Status::Failed } else { Status::Completed };
                let id = lease.id().to_owned();
                may_be(store.add_output(&lease, 0, vec![item(&format!("{id}-out"))]).await);
                may_be(store.finish(lease, end(status, &id)).await);
            }
            9 => {
                let new = vec![item(&self.name("i"))];
                may_be(store.conversation_create(&owner, &self.name("v"), vec![], new).await);
            }
            10 => {
                let name = self.name("v");
                let new = vec![item(&self.name("i"))];
                may_be(store.conversation_append(&owner, &name, new).await);
                may_be(store.conversation_remove(&owner, &name, &self.name("i")).await);
            }
            11 => {
                let tags = vec![CompletionTag { name: "a".into(), value: self.name("t") }];
                let new = NewCompletion { id: self.name("c"), tags: tags.clone(), input: vec![item("i")] };
                self.leases.extend(may_be(store.completion_create(&owner, new).await));
                may_be(store.completion_retag(&owner, &self.name("c"), tags).await);
            }
            12 => {
                may_be(store.delete(&owner, &self.name("r")).await);
                may_be(store.conversation_delete(&owner, &self.name("v")).await);
                may_be(store.completion_delete(&owner, &self.name("c")).await);
            }
            13 => {
                may_be(store.evict().await);
                may_be(store.context(&owner, &parent(&self.name("r")), Budget::default()).await);
                may_be(store.items(&owner, &self.name("r"), Page::whole(), Budget::default()).await);
            }
            14 => {
                let renewed = std::mem::take(&mut self.leases);
                let lost = may_be(store.renew(renewed.clone()).await).unwrap_or_default();
                self.leases = renewed.into_iter().filter(|lease| !lost.contains(lease)).collect();
                let fenced = may_be(store.fence(&owner, &self.name("r")).await).flatten();
                self.leases.extend(fenced);
            }
            _ => {
                self.kit.clock.advance(Duration::from_secs(7));
                let swept = may_be(store.sweep().await).unwrap_or_default();
                self.leases.extend(swept.into_iter().map(|swept| swept.lease));
            }
        }
    }
}

#[tokio::test]
async fn owners_at_once_make_room_for_each_other_and_everything_is_counted() {
    let bounds = Bounds { owner_bytes: 6000, bytes: 12_000, ..Bounds::default() };
    each(bounds, async |kit| {
        join_all((0..ACTORS).map(|number| {
            let store = if number.is_multiple_of(2) { &*kit.store } else { &*kit.beside };
            let mut actor = Actor { kit, store, random: SplitMix64::new(number), leases: Vec::new() };
            async move {
                for _ in 0..STEPS {
                    actor.step().await;
                }
            }
        }))
        .await;
        while kit.store.evict().await.unwrap() != store::Evicted::default() {}
        let stats = kit.store.stats().await.unwrap();
        assert!(stats.responses > 0 && stats.owners.len() == 3, "{stats:?}");
    })
    .await;
}
