//! Calls that may be made again, as by one who didn't learn whether they were committed.

use store::{End, Finished, Lease, NewResponse, Owner, StoredItem};

use super::Program;
use crate::kit::{chunk, needs};
use crate::model::Holder;

#[derive(Clone, Debug)]
pub(crate) enum Call {
    Create { host: usize, owner: Owner, new: NewResponse, background: bool },
    Append { lease: Lease, holder: Holder, first: u64, count: u64 },
    AddOutput { lease: Lease, holder: Holder, first: u64, items: Vec<StoredItem> },
    Finish { lease: Lease, holder: Holder, end: End },
}

impl Program<'_> {
    /// Makes a call for the first time.
    pub(super) async fn first(&mut self, call: Call) {
        self.calls.push(call.clone());
        self.call(call).await;
    }

    /// Makes a call.
    pub(super) async fn call(&mut self, call: Call) {
        match call {
            Call::Create { host, owner, new, background: true } => {
                let made = self.host(host).enqueue(&owner, &needs(), new.clone(), vec![]).await;
                let expected = self.model.transaction(|model| model.create(&owner, &new, true, host));
                assert_eq!(made, expected);
            }
            Call::Create { host, owner, new, background: false } => {
                let made = self.host(host).create(&owner, new.clone()).await;
                let expected = self.model.transaction(|model| model.create(&owner, &new, false, host));
                assert_eq!(made.as_ref().map(|_| ()), expected.as_ref().copied());
                // The same lease again is no new one.
                self.keep(made.ok().map(|lease| (lease, (host, 1))));
            }
            Call::Append { lease, holder, first, count } => {
                let made = self.host(holder.0).append(&lease, chunk(first, count)).await;
                let expected = self.model.append(lease.owner(), lease.id(), holder, (first, count));
                assert_eq!(made, expected);
            }
            Call::AddOutput { lease, holder, first, items } => {
                let made = self.host(holder.0).add_output(&lease, first, items.clone()).await;
                let expected = self.model.add_output(lease.owner(), lease.id(), holder, first, &items);
                assert_eq!(made, expected);
            }
            Call::Finish { lease, holder, end } => {
                let made = self.host(holder.0).finish(lease.clone(), end.clone()).await;
                let expected = self.model.finish(lease.owner(), lease.id(), holder, &end);
                assert_eq!(made.map(|finished| finished == Finished::Now), expected);
            }
        }
    }
}
