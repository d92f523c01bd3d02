//! [`Store`] on a database of SQL: each method as a call to the threads that have its connections.

use super::evict::Debt;
use super::session::Session;
use super::{
    background, check, completions, context, conversations, evict, hosts, named, read, reasoning, responses,
};
use crate::chunk::{Packed, pack};
use crate::{
    Budget, Chunk, Claimed, Completion, CompletionTag, Completions, ContextItem, End, Events, Evicted,
    ExportedRecord, Finished, Items, Lease, Link, LogPosition, Needs, NewCompletion, NewResponse, OtherHost,
    Owner, Page, Purge, ReasoningOutcome, Reply, Response, Result, Served, Stats, Store, StoreError,
    StoredConversation, StoredItem, Swept,
};

/// What a call changes, and so whom it keeps out.
#[derive(Clone, Debug)]
pub enum Scope {
    /// One row: that alone is locked.
    Row,
    /// What an owner has: its other changes wait.
    Owner(Owner),
    /// What all owners have.
    All,
}

/// Calls that threads make, each as a transaction. They stay possible until the store is closed.
pub trait Transactor: Clone + Send + Sync + 'static {
    /// Has `work` made, and returns its result once it is committed. It is made again where a commit's
    /// answer was lost, or where the database asks for it.
    fn write<T: Send + 'static>(
        &self,
        scope: Scope,
        work: impl Fn(&Session) -> Result<T> + Send + 'static,
    ) -> impl Future<Output = Result<T>> + Send + 'static;

    /// Has `work` made, which writes nothing and sees one state of the database.
    fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Session) -> Result<T> + Send + 'static,
    ) -> impl Future<Output = Result<T>> + Send + 'static;
}

/// A store whose transactions are those of this module.
pub trait Tables: Send + Sync {
    type Calls: Transactor;
    fn calls(&self) -> Self::Calls;
}

fn write<T: Send + 'static>(
    store: &impl Tables,
    scope: Scope,
    work: impl Fn(&Session) -> Result<T> + Send + 'static,
) -> Reply<T> {
    Reply::write(store.calls().write(scope, work))
}

/// Writes something of an owner.
fn write_of<T: Send + 'static>(
    store: &impl Tables,
    owner: &Owner,
    work: impl Fn(&Session, &Owner) -> Result<T> + Send + 'static,
) -> Reply<T> {
    let owner = owner.clone();
    write(store, Scope::Owner(owner.clone()), move |s| work(s, &owner))
}

/// Makes a change, and then the room that it owes. Others' calls are made in between.
fn change<T: Send + 'static>(
    store: &impl Tables,
    owner: &Owner,
    work: impl Fn(&Session, &Owner) -> Result<(T, Option<Debt>)> + Send + 'static,
) -> Reply<T> {
    let (calls, owner) = (store.calls(), owner.clone());
    Reply::write(async move {
        let scope = Scope::Owner(owner.clone());
        let (done, mut debt) = calls.write(scope, move |s| work(s, &owner)).await?;
        while let Some(owed) = debt {
            // The change is committed, whatever becomes of the rest.
            debt = calls.write(Scope::Row, move |s| evict::repay(s, owed)).await.unwrap_or_default();
        }
        Ok(done)
    })
}

fn read<T: Send + 'static>(
    store: &impl Tables,
    work: impl Fn(&Session) -> Result<T> + Send + 'static,
) -> Reply<T> {
    Reply::read(store.calls().read(work))
}

/// Reads what `budget` pays for.
fn read_paid<T: Send + 'static>(
    store: &impl Tables,
    budget: Budget,
    work: impl Fn(&Session, &Budget) -> Result<T> + Send + 'static,
) -> Reply<T> {
    read(store, move |s| budget.run(|| work(s, &budget)))
}

/// Reads a row, and renews its age with `touch` if `work` says its key.
fn read_and_touch<T: Send + 'static>(
    store: &impl Tables,
    work: impl Fn(&Session) -> Result<(T, Option<i64>)> + Send + 'static,
    touch: fn(&Session, i64) -> Result<()>,
) -> Reply<T> {
    let calls = store.calls();
    Reply::read(async move {
        let (row, old) = calls.read(work).await?;
        if let Some(key) = old {
            // A disk that can't be written can still be read.
            let _ = calls.write(Scope::Row, move |s| touch(s, key)).await;
        }
        Ok(row)
    })
}

/// The chunks of new events, and the number of the first.
type NewEvents = (u64, Vec<Packed>);

fn packed(chunk: Chunk) -> Result<NewEvents> {
    Ok((chunk.first, pack(chunk)?))
}

impl<S: Tables> Store for S {
    fn create(&self, owner: &Owner, new: NewResponse) -> Reply<Lease> {
        change(self, owner, move |s, owner| responses::create(s, owner, &new))
    }

    fn enqueue(&self, owner: &Owner, needs: &Needs, new: NewResponse, log: Vec<Vec<u8>>) -> Reply<()> {
        let needs = needs.clone();
        match pack(Chunk { first: 0, events: log }) {
            Ok(log) => change(self, owner, move |s, owner| responses::enqueue(s, owner, &needs, &new, &log)),
            Err(error) => Reply::write(std::future::ready(Err(error))),
        }
    }

    fn append(&self, lease: &Lease, chunk: Chunk) -> Reply<()> {
        let (lease, calls) = (lease.clone(), self.calls());
        Reply::write(async move {
            let (first, chunks) = packed(chunk)?;
            calls.write(Scope::Row, move |s| responses::append(s, &lease, first, &chunks)).await
        })
    }

    fn add_output(&self, lease: &Lease, first: u64, items: Vec<StoredItem>) -> Reply<()> {
        let lease = lease.clone();
        write_of(self, &lease.owner.clone(), move |s, _| responses::add_output(s, &lease, first, &items))
    }

    fn finish(&self, lease: Lease, mut end: End) -> Reply<Finished> {
        let calls = self.calls();
        Reply::write(async move {
            let last = end.last.take().map(packed).transpose()?;
            let scope = Scope::Owner(lease.owner.clone());
            let finish = move |s: &Session| match responses::finish(s, &lease, &end, last.as_ref()) {
                // Of a completion or a turn that didn't end well, nothing stays.
                Err(StoreError::NotFound) if s.is_repeated.get() => Ok(Finished::Now),
                finished => finished,
            };
            calls.write(scope, finish).await
        })
    }

    fn fence(&self, owner: &Owner, id: &str) -> Reply<Option<Lease>> {
        let (owner, id) = (owner.clone(), id.to_owned());
        write(self, Scope::Row, move |s| background::fence(s, &owner, &id))
    }

    fn response(&self, owner: &Owner, id: &str, budget: Budget) -> Reply<Response> {
        let (owner, id) = (owner.clone(), id.to_owned());
        let read = move |s: &Session| budget.run(|| read::response(s, &owner, &id, &budget));
        read_and_touch(self, read, responses::touch)
    }

    fn context(&self, owner: &Owner, link: &Link, budget: Budget) -> Reply<Vec<ContextItem>> {
        let (owner, link) = (owner.clone(), link.clone());
        read_paid(self, budget, move |s, budget| context::context(s, &owner, &link, budget))
    }

    fn items(&self, owner: &Owner, id: &str, page: Page, budget: Budget) -> Reply<Items> {
        let (owner, id) = (owner.clone(), id.to_owned());
        let read = move |s: &Session| {
            let items = budget.run(|| context::items(s, &owner, &id, &page, &budget))?;
            Ok((items, read::to_touch(s, &owner, &id)?))
        };
        read_and_touch(self, read, responses::touch)
    }

    fn items_by_id(&self, owner: &Owner, ids: Vec<String>, budget: Budget) -> Reply<Vec<Option<StoredItem>>> {
        let owner = owner.clone();
        read_paid(self, budget, move |s, budget| {
            ids.iter().map(|id| named::item(s, &owner, id, budget)).collect()
        })
    }

    fn events_after(&self, owner: &Owner, id: &str, after: Option<u64>) -> Reply<Events> {
        let (owner, id) = (owner.clone(), id.to_owned());
        read(self, move |s| read::events_after(s, &owner, &id, after))
    }

    fn delete(&self, owner: &Owner, id: &str) -> Reply<()> {
        let id = id.to_owned();
        write_of(self, owner, move |s, owner| s.gone(responses::delete(s, owner, &id)))
    }

    fn conversation_create(
        &self,
        owner: &Owner,
        id: &str,
        metadata: Vec<u8>,
        items: Vec<StoredItem>,
    ) -> Reply<StoredConversation> {
        let id = id.to_owned();
        change(self, owner, move |s, owner| conversations::create(s, owner, &id, &metadata, &items))
    }

    fn conversation_get(&self, owner: &Owner, id: &str, budget: Budget) -> Reply<StoredConversation> {
        let (owner, id) = (owner.clone(), id.to_owned());
        let read = move |s: &Session| budget.run(|| conversations::get(s, &owner, &id, &budget));
        read_and_touch(self, read, conversations::touch)
    }

    fn conversation_update(&self, owner: &Owner, id: &str, metadata: Vec<u8>) -> Reply<StoredConversation> {
        let id = id.to_owned();
        change(self, owner, move |s, owner| conversations::update(s, owner, &id, &metadata))
    }

    fn conversation_delete(&self, owner: &Owner, id: &str) -> Reply<()> {
        let id = id.to_owned();
        write_of(self, owner, move |s, owner| s.gone(conversations::delete(s, owner, &id)))
    }

    fn conversation_append(&self, owner: &Owner, id: &str, items: Vec<StoredItem>) -> Reply<()> {
        let id = id.to_owned();
        change(self, owner, move |s, owner| conversations::append(s, owner, &id, &items))
    }

    fn conversation_items(&self, owner: &Owner, id: &str, page: Page, budget: Budget) -> Reply<Items> {
        let (owner, id) = (owner.clone(), id.to_owned());
        let read = move |s: &Session| budget.run(|| conversations::items(s, &owner, &id, &page, &budget));
        read_and_touch(self, read, conversations::touch)
    }

    fn conversation_len(&self, owner: &Owner, id: &str) -> Reply<u64> {
        let (owner, id) = (owner.clone(), id.to_owned());
        read(self, move |s| conversations::len(s, &owner, &id))
    }

    fn conversation_item(&self, owner: &Owner, id: &str, item: &str, budget: Budget) -> Reply<StoredItem> {
        let (owner, id, item) = (owner.clone(), id.to_owned(), item.to_owned());
        read_paid(self, budget, move |s, budget| conversations::item(s, &owner, &id, &item, budget))
    }

    fn conversation_remove(&self, owner: &Owner, id: &str, item: &str) -> Reply<StoredConversation> {
        let (id, item) = (id.to_owned(), item.to_owned());
        write_of(self, owner, move |s, owner| conversations::remove(s, owner, &id, &item))
    }

    fn completion_create(&self, owner: &Owner, new: NewCompletion) -> Reply<Lease> {
        let NewCompletion { id, tags, input } = new;
        let new = NewResponse { id, link: Link::Alone, request: Vec::new(), input };
        change(self, owner, move |s, owner| completions::create(s, owner, &new, &tags))
    }

    fn completion_get(&self, owner: &Owner, id: &str, budget: Budget) -> Reply<Completion> {
        let (owner, id) = (owner.clone(), id.to_owned());
        let read = move |s: &Session| budget.run(|| completions::get(s, &owner, &id, &budget));
        read_and_touch(self, read, responses::touch)
    }

    fn completion_list(
        &self,
        owner: &Owner,
        tags: Vec<CompletionTag>,
        page: Page,
        budget: Budget,
    ) -> Reply<Completions> {
        let owner = owner.clone();
        read_paid(self, budget, move |s, budget| completions::list(s, &owner, &tags, &page, budget))
    }

    fn completion_retag(&self, owner: &Owner, id: &str, tags: Vec<CompletionTag>) -> Reply<()> {
        let id = id.to_owned();
        change(self, owner, move |s, owner| completions::retag(s, owner, &id, &tags))
    }

    fn completion_items(&self, owner: &Owner, id: &str, page: Page, budget: Budget) -> Reply<Items> {
        let (owner, id) = (owner.clone(), id.to_owned());
        let read = move |s: &Session| {
            let items = budget.run(|| completions::items(s, &owner, &id, &page, &budget))?;
            Ok((items, completions::to_touch(s, &owner, &id)?))
        };
        read_and_touch(self, read, responses::touch)
    }

    fn completion_delete(&self, owner: &Owner, id: &str) -> Reply<()> {
        let id = id.to_owned();
        write_of(self, owner, move |s, owner| s.gone(completions::delete(s, owner, &id)))
    }

    fn claim(&self, served: &Served) -> Reply<Option<Claimed>> {
        let served = served.clone();
        write(self, Scope::Row, move |s| background::claim(s, &served))
    }

    fn release(&self, lease: Lease) -> Reply<()> {
        write(self, Scope::Row, move |s| background::release(s, &lease))
    }

    fn renew(&self, leases: Vec<Lease>) -> Reply<Vec<Lease>> {
        write(self, Scope::Row, move |s| background::renew(s, &leases))
    }

    fn sweep(&self) -> Reply<Vec<Swept>> {
        write(self, Scope::Row, background::sweep)
    }

    fn evict(&self) -> Reply<Evicted> {
        write(self, Scope::Row, evict::evict)
    }

    fn enter(&self, settings: &str) -> Reply<Vec<OtherHost>> {
        let settings = settings.to_owned();
        write(self, Scope::Row, move |s| hosts::enter(s, &settings))
    }

    fn leave(&self) -> Reply<()> {
        write(self, Scope::Row, hosts::leave)
    }

    fn grown(&self, logs: Vec<LogPosition>) -> Reply<Vec<LogPosition>> {
        read(self, move |s| hosts::grown(s, &logs))
    }

    fn ask_end_of_reasoning(&self, owner: &Owner, id: &str) -> Reply<bool> {
        let (owner, id) = (owner.clone(), id.to_owned());
        write(self, Scope::Row, move |s| reasoning::ask(s, &owner, &id))
    }

    fn asked_ends_of_reasoning(&self) -> Reply<Vec<(Owner, String)>> {
        read(self, reasoning::asked)
    }

    fn answer_end_of_reasoning(&self, owner: &Owner, id: &str, outcome: ReasoningOutcome) -> Reply<()> {
        let (owner, id) = (owner.clone(), id.to_owned());
        write(self, Scope::Row, move |s| reasoning::answer(s, &owner, &id, outcome))
    }

    fn end_of_reasoning(&self, owner: &Owner, id: &str) -> Reply<Option<ReasoningOutcome>> {
        let (owner, id) = (owner.clone(), id.to_owned());
        read(self, move |s| reasoning::outcome(s, &owner, &id))
    }

    fn stats(&self) -> Reply<Stats> {
        read(self, check::stats)
    }

    fn purge(&self, what: Purge) -> Reply<Evicted> {
        write(self, Scope::All, move |s| evict::purge(s, &what))
    }

    fn check(&self) -> Reply<Vec<String>> {
        read(self, check::check)
    }

    fn export(&self, owner: Option<&Owner>, after: u64) -> Reply<Option<(u64, ExportedRecord)>> {
        let owner = owner.cloned();
        read(self, move |s| check::export(s, owner.as_ref(), after))
    }
}
