//! Random programs of two hosts with a store in common against the plain model: after each step the
//! same result, and at any time everything that can be read is the same, by both hosts, for the owner
//! and, unknown, for the other one.
//!
//! So no event is lost or doubled, whoever lost its lease writes nothing, and calls that are made
//! again change nothing. Beside the model, epochs of a response only grow.

mod calls;
mod steps;

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use store::{
    Bounds, Budget, Chunk, End, Events, Evicted, Lease, Link, NewResponse, Order, Owner, State, Store,
    StoredItem,
};

use crate::kit::{Kit, chunk, local, named, page, postgres, served};
use crate::model::{Holder, Limits, Model};
use calls::Call;
use steps::{IDS, Name, Step, step};

fn owner(number: u8) -> Owner {
    Owner::new(["alice", "bob"][usize::from(number)])
}

fn response(number: u8) -> String {
    format!("r{number}")
}

fn conversation(number: u8) -> String {
    format!("v{number}")
}

fn items(numbers: &[u8], from: &str) -> Vec<StoredItem> {
    numbers
        .iter()
        .map(|n| StoredItem { id: format!("i{n}"), body: format!("{n} of {from}").into() })
        .collect()
}

/// A store, its model, and every lease that it ever gave.
struct Program<'a> {
    kit: &'a mut Kit,
    model: Model,
    leases: Vec<(Lease, Holder)>,
    /// The last epoch of each response, by its order of creation.
    epochs: HashMap<u64, u64>,
    /// What may be called again.
    calls: Vec<Call>,
    /// Whether logs are left out, since the model doesn't know their compressed bytes.
    logless: bool,
}

impl Program<'_> {
    /// Makes a step as this host.
    async fn step(&mut self, host: usize, step: Step, number: usize) {
        let number = number.to_string();
        match step {
            Step::Create { name, link, background, size, items: input } => {
                let link = match link {
                    None => Link::Alone,
                    Some((false, id)) => Link::Parent(response(id)),
                    Some((true, id)) => Link::Conversation(conversation(id)),
                };
                let input = items(&input, &number);
                let new = NewResponse { id: response(name.1), link, request: vec![1; size], input };
                self.first(Call::Create { host, owner: owner(name.0), new, background }).await;
            }
            Step::Append { lease, count, skip } => {
                let Some((lease, holder)) = self.lease(lease).filter(|_| !self.logless) else { return };
                let first = self.events(&lease).saturating_add_signed(skip);
                self.first(Call::Append { lease, holder, first, count }).await;
            }
            Step::AddOutput(lease) => {
                let Some((lease, holder)) = self.lease(lease) else { return };
                let found = self.model.find(lease.owner(), lease.id());
                let first = found.map_or(0, |index| self.model.responses[index].output.len() as u64);
                self.first(Call::AddOutput { lease, holder, first, items: items(&[8], &number) }).await;
            }
            Step::Finish { lease, status, size, last } => {
                let Some((lease, holder)) = self.lease(lease) else { return };
                let last = self.last(&lease, last);
                let end = End { status, result: vec![2; size], output: items(&[7], &number), last };
                self.first(Call::Finish { lease, holder, end }).await;
            }
            Step::Again(call) => {
                if !self.calls.is_empty() {
                    let call = call.get(&self.calls).clone();
                    self.call(call).await;
                }
            }
            other => self.lease_step(host, other, &number).await,
        }
    }

    /// Steps on leases.
    async fn lease_step(&mut self, host: usize, step: Step, number: &str) {
        match step {
            Step::Fence(name) => {
                let (owner, id) = (owner(name.0), response(name.1));
                let fence = self.host(host).fence(&owner, &id).await;
                let expected = self.model.fence(&owner, &id, host);
                assert_eq!(fence.as_ref().map(Option::is_some), expected.as_ref().map(Option::is_some));
                let epoch = expected.ok().flatten();
                self.keep(fence.ok().flatten().zip(epoch).map(|(lease, epoch)| (lease, (host, epoch))));
            }
            Step::Renew(lease) => {
                let Some((lease, holder)) = self.lease(lease) else { return };
                let expected = if self.model.renew(lease.owner(), lease.id(), holder) {
                    vec![]
                } else {
                    vec![lease.clone()]
                };
                assert_eq!(self.host(host).renew(vec![lease]).await, Ok(expected));
            }
            Step::Release(lease) => {
                let Some((lease, holder)) = self.lease(lease) else { return };
                let expected = self.model.release(lease.owner(), lease.id(), holder);
                assert_eq!(self.host(host).release(lease).await, expected);
            }
            Step::Claim => {
                let claimed = self.host(host).claim(&served()).await.unwrap().map(|claimed| claimed.lease);
                let expected = self.model.claim(host).into_iter().collect();
                self.take(host, claimed.into_iter().collect(), expected);
            }
            Step::Sweep => {
                let swept = self.host(host).sweep().await.unwrap();
                let expected = self.model.sweep(host);
                self.take(host, swept.into_iter().map(|swept| swept.lease).collect(), expected);
            }
            other => self.other_step(host, other, number).await,
        }
    }

    /// Steps on conversations, on everything, and of time.
    async fn other_step(&mut self, host: usize, step: Step, number: &str) {
        let model = &mut self.model;
        let store = if host == 0 { &self.kit.store } else { &self.kit.beside };
        match step {
            Step::Delete((o, id)) => {
                assert_eq!(
                    store.delete(&owner(o), &response(id)).await,
                    model.delete(&owner(o), &response(id))
                );
            }
            Step::ConversationCreate((o, id), list) => {
                let (owner, id, list) = (owner(o), conversation(id), items(&list, number));
                let expected = model.transaction(|model| model.conversation_create(&owner, &id, &list));
                assert_eq!(store.conversation_create(&owner, &id, vec![], list).await.map(drop), expected);
            }
            Step::ConversationAppend((o, id), list) => {
                let (owner, id, list) = (owner(o), conversation(id), items(&list, number));
                let expected = model.transaction(|model| model.conversation_append(&owner, &id, &list));
                assert_eq!(store.conversation_append(&owner, &id, list).await, expected);
            }
            Step::ConversationRemove((o, id), item) => {
                let (owner, id, item) = (owner(o), conversation(id), format!("i{item}"));
                let expected = model.conversation_remove(&owner, &id, &item);
                assert_eq!(store.conversation_remove(&owner, &id, &item).await.map(drop), expected);
            }
            Step::ConversationDelete((o, id)) => {
                let (owner, id) = (owner(o), conversation(id));
                assert_eq!(
                    store.conversation_delete(&owner, &id).await,
                    model.conversation_delete(&owner, &id)
                );
            }
            Step::Read(name) => self.compare(host, name).await,
            Step::Evict => {
                model.evict();
                while store.evict().await.unwrap() != Evicted::default() {}
            }
            Step::Advance(seconds) => {
                model.now += seconds * 1000;
                self.kit.clock.advance(Duration::from_secs(seconds));
            }
            Step::Reopen => {
                if self.kit.reopen() {
                    self.model.reopen();
                }
            }
            _ => unreachable!("another function's step"),
        }
    }

    /// A host's handle of the store.
    fn host(&self, host: usize) -> &dyn Store {
        if host == 0 { &*self.kit.store } else { &*self.kit.beside }
    }

    /// Some lease, lost or not.
    fn lease(&self, index: prop::sample::Index) -> Option<(Lease, Holder)> {
        (!self.leases.is_empty()).then(|| index.get(&self.leases).clone())
    }

    fn events(&self, lease: &Lease) -> u64 {
        self.model.find(lease.owner(), lease.id()).map_or(0, |index| self.model.responses[index].events)
    }

    /// Last events of a response that has a log.
    fn last(&self, lease: &Lease, count: u64) -> Option<Chunk> {
        let background = self
            .model
            .find(lease.owner(), lease.id())
            .is_ok_and(|index| self.model.responses[index].background);
        (background && !self.logless && count > 0).then(|| chunk(self.events(lease), count))
    }

    fn take(&mut self, host: usize, leases: Vec<Lease>, expected: Vec<(Owner, String, u64)>) {
        let named = |lease: &Lease| (lease.owner().clone(), lease.id().to_owned());
        assert_eq!(
            leases.iter().map(named).collect::<Vec<_>>(),
            expected.iter().map(|(owner, id, _)| (owner.clone(), id.clone())).collect::<Vec<_>>()
        );
        let epochs = expected.into_iter().map(|(_, _, epoch)| (host, epoch));
        self.keep(leases.into_iter().zip(epochs));
    }

    /// Keeps leases. Epochs of a response grow; one that is made again under its id begins anew.
    fn keep(&mut self, leases: impl IntoIterator<Item = (Lease, Holder)>) {
        for (lease, holder) in leases {
            if self.leases.contains(&(lease.clone(), holder)) && holder.1 == 1 {
                continue;
            }
            let made = self.model.find(lease.owner(), lease.id()).unwrap();
            let before = self.epochs.insert(self.model.responses[made].key, holder.1);
            assert!(before.is_none_or(|epoch| epoch < holder.1), "{before:?} {lease:?}");
            self.leases.push((lease, holder));
        }
    }

    /// Everything that can be read under a name, of a response and of a conversation.
    async fn compare(&mut self, host: usize, name: Name) {
        let (model, store) = (&mut self.model, if host == 0 { &self.kit.store } else { &self.kit.beside });
        let (owner, id) = (owner(name.0), response(name.1));
        for link in [Link::Parent(id.clone()), Link::Conversation(conversation(name.1))] {
            let context = store.context(&owner, &link, Budget::default()).await;
            let context = context.map(|context| context.into_iter().map(|c| c.item).collect::<Vec<_>>());
            assert_eq!(context, model.context(&owner, &link));
        }
        let all = || page(Order::Ascending, 1000, None);
        let entries = store.conversation_items(&owner, &conversation(name.1), all(), Budget::default()).await;
        assert_eq!(entries.map(|list| list.data), model.entries(&owner, &conversation(name.1)));
        model.read_conversation(&owner, &conversation(name.1));
        let item = format!("i{}", name.1);
        assert_eq!(named(&**store, &owner, &item).await.ok(), model.item(&owner, &item));
        let found = model.find(&owner, &id);
        let items = store.items(&owner, &id, all(), Budget::default()).await.map(|list| list.data);
        assert_eq!(items, found.clone().map(|index| model.items(index)));
        let log = store.events_after(&owner, &id, None).await;
        let read = store.response(&owner, &id, Budget::default()).await;
        let Ok(index) = found else {
            assert_eq!((log.map(drop), read.map(drop)), (found.clone().map(drop), found.map(drop)));
            return;
        };
        let expected = &model.responses[index];
        let (read, log) = (read.unwrap(), log.unwrap());
        assert_eq!((read.background, &read.request), (expected.background, &expected.request));
        assert_eq!(read.state == State::Queued, expected.ended.is_none() && !expected.begun);
        let ended = match read.state {
            State::Queued | State::Running(_) => None,
            State::Ended(outcome) => Some((outcome.status, outcome.at, outcome.result, outcome.output)),
        };
        let end = |(status, at)| (status, at, expected.result.clone(), expected.output.clone());
        assert_eq!(ended, expected.ended.map(end));
        match model.log(index).filter(|_| expected.background) {
            Some(count) => {
                let Events::Log { chunk: events, end, .. } = log else { panic!("{log:?}") };
                assert_eq!((events, end), (chunk(0, count), expected.ended.is_some()));
            }
            None if expected.background => assert_eq!(log, Events::Expired),
            None => assert_eq!(log, Events::Unlogged),
        }
        model.read(index);
    }

    async fn compare_all(&mut self) {
        for owner in 0..2 {
            for id in 0..IDS {
                self.compare(usize::from(id % 2), (owner, id)).await;
            }
        }
        assert_eq!(self.kit.store.check().await, Ok(vec![]));
    }
}

fn play(steps: &[(usize, Step)], logless: bool, is_local: bool) {
    let bounds = Bounds {
        owner_bytes: if logless { 4000 } else { u64::MAX >> 1 },
        links: 4,
        running: 2,
        queued: 3,
        ..Bounds::default()
    };
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap();
    let limits = Limits {
        owner_bytes: bounds.owner_bytes,
        links: bounds.links,
        unused: millis(bounds.unused),
        log_kept: millis(bounds.log_kept),
        touch: 3_600_000,
        running: 2,
        queued: 3,
        lease: millis(bounds.lease),
        claims: bounds.claims,
        unserved: millis(bounds.unserved),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let program = async |kit: &mut Kit| {
        let model = Model::new(limits.clone(), kit.clock.now());
        let mut program =
            Program { kit, model, leases: Vec::new(), epochs: HashMap::new(), calls: Vec::new(), logless };
        for (number, (host, step)) in steps.iter().enumerate() {
            program.step(*host, step.clone(), number).await;
        }
        program.compare_all().await;
        program.step(0, Step::Reopen, 0).await;
        program.compare_all().await;
    };
    runtime.block_on(async {
        if is_local {
            local(&bounds, &program).await;
        } else {
            postgres(&bounds, &program).await;
        }
    });
}

/// A property's settings, with the default's cases by this.
fn fewer(by: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases / by, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(fewer(4))]

    #[test]
    fn programs_do_what_the_model_does(steps in prop::collection::vec((0..2_usize, step()), 1..150)) {
        play(&steps, false, true);
    }

    #[test]
    fn programs_evict_what_the_model_evicts(steps in prop::collection::vec((0..2_usize, step()), 1..150)) {
        play(&steps, true, true);
    }
}

proptest! {
    #![proptest_config(fewer(16))]

    #[test]
    fn programs_on_postgres_do_what_the_model_does(steps in prop::collection::vec((0..2_usize, step()), 1..150)) {
        play(&steps, false, false);
    }

    #[test]
    fn programs_on_postgres_evict_what_the_model_evicts(steps in prop::collection::vec((0..2_usize, step()), 1..150)) {
        play(&steps, true, false);
    }
}
