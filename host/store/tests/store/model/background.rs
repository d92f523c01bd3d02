//! A model's event logs and leases.

use store::{Owner, StoreError, StoredItem};

use super::{Holder, Model, ModelResponse};

impl Model {
    /// Adds a chunk, as this holder of the lease.
    pub(crate) fn append(
        &mut self,
        owner: &Owner,
        id: &str,
        holder: Holder,
        (first, count): (u64, u64),
    ) -> Result<(), StoreError> {
        let response = self.held(owner, id, holder)?;
        if first < response.events {
            let is_same = response.log.contains(&(first, count));
            return if is_same { Ok(()) } else { Err(StoreError::Conflict { at: first }) };
        }
        if first > response.events || !response.background {
            return Err(StoreError::Sequence { expected: response.events });
        }
        response.begun = true;
        response.log.push((first, count));
        response.events += count;
        Ok(())
    }

    /// Adds items to an output behind `first` others, as this holder of the lease.
    pub(crate) fn add_output(
        &mut self,
        owner: &Owner,
        id: &str,
        holder: Holder,
        first: u64,
        items: &[StoredItem],
    ) -> Result<(), StoreError> {
        let response = self.held(owner, id, holder)?;
        let stored = response.output.len() as u64;
        if first < stored {
            let is_same = response.output[usize::try_from(first).unwrap()..].starts_with(items);
            return if is_same { Ok(()) } else { Err(StoreError::Conflict { at: first }) };
        }
        if first > stored || response.background {
            return Err(StoreError::Sequence { expected: stored });
        }
        response.output.extend_from_slice(items);
        Ok(())
    }

    fn held(&mut self, owner: &Owner, id: &str, holder: Holder) -> Result<&mut ModelResponse, StoreError> {
        let index = self.find(owner, id)?;
        let response = &mut self.responses[index];
        if response.ended.is_some() || !response.is_held(holder) {
            return Err(StoreError::LeaseLost);
        }
        Ok(response)
    }

    /// Claims what waits longest. Returns its owner and id.
    pub(crate) fn claim(&mut self, host: usize) -> Option<(Owner, String, u64)> {
        self.note_served();
        let (now, limits) = (self.now, self.limits.clone());
        let held = |r: &&ModelResponse| r.background && r.ended.is_none() && r.lease > now;
        let busy = |owner: &Owner| {
            self.responses.iter().filter(held).filter(|r| r.owner == *owner).count() >= limits.running
        };
        let waits = |r: &&ModelResponse| {
            let waits = r.background && r.ended.is_none() && !r.begun && r.lease <= now;
            waits && r.tries < limits.claims && !busy(&r.owner)
        };
        let key = self.responses.iter().filter(waits).map(|r| r.key).min()?;
        self.responses.iter_mut().find(|r| r.key == key).unwrap().tries += 1;
        Some(self.take(key, host))
    }

    /// Takes over what was lost, and what waits for what nobody serves. Returns owners, ids and epochs.
    pub(crate) fn sweep(&mut self, host: usize) -> Vec<(Owner, String, u64)> {
        let (now, limits) = (self.now, self.limits.clone());
        let unserved = self.served_last + limits.unserved <= now;
        let lost = |r: &&ModelResponse| {
            r.ended.is_none() && r.lease <= now && (r.begun || r.tries >= limits.claims || unserved)
        };
        let mut keys: Vec<u64> = self.responses.iter().filter(lost).map(|r| r.key).collect();
        keys.sort_unstable();
        keys.into_iter().map(|key| self.take(key, host)).collect()
    }

    fn take(&mut self, key: u64, host: usize) -> (Owner, String, u64) {
        let lease = self.now + self.limits.lease;
        let response = self.responses.iter_mut().find(|r| r.key == key).unwrap();
        response.epoch += 1;
        response.host = Some(host);
        response.lease = lease;
        (response.owner.clone(), response.id.clone(), response.epoch)
    }

    /// Takes what hasn't ended. Returns its epoch.
    pub(crate) fn fence(&mut self, owner: &Owner, id: &str, host: usize) -> Result<Option<u64>, StoreError> {
        let response = &self.responses[self.find(owner, id)?];
        let (key, is_open) = (response.key, response.ended.is_none());
        Ok(is_open.then(|| self.take(key, host).2))
    }

    /// Returns whether the lease was held.
    pub(crate) fn renew(&mut self, owner: &Owner, id: &str, holder: Holder) -> bool {
        let end = self.now + self.limits.lease;
        let held = self.held(owner, id, holder);
        held.map(|response| response.lease = end).is_ok()
    }

    /// Gives back what was claimed and not begun.
    pub(crate) fn release(&mut self, owner: &Owner, id: &str, holder: Holder) -> Result<(), StoreError> {
        let response = self.held(owner, id, holder)?;
        if response.begun {
            return Err(StoreError::LeaseLost);
        }
        response.host = None;
        response.lease = 0;
        response.tries = response.tries.saturating_sub(1);
        Ok(())
    }

    /// Notes that a host serves the model, unless that was noted lately.
    pub(crate) fn note_served(&mut self) {
        if self.served_last + self.limits.unserved / 10 <= self.now {
            self.served_last = self.now;
        }
    }

    pub(crate) fn reopen(&mut self) {
        self.served_last = self.now;
        for response in self.responses.iter_mut().filter(|r| r.ended.is_none()) {
            response.lease = 0;
        }
    }

    /// Removes what is too old and then what is too much.
    pub(crate) fn evict(&mut self) {
        let expired = self.expired();
        loop {
            let mut old = self.responses.iter().filter(|r| r.ended.is_some() && r.used <= expired);
            let Some(key) = old.find(|r| self.children(r.key) == 0).map(|r| r.key) else { break };
            self.erase(key);
        }
        self.conversations.retain(|c| c.running.is_some() || c.used > expired);
        for owner in ["alice", "bob"] {
            // What runs may hold more than the bound.
            let _ = self.make_room(&Owner::new(owner), None);
        }
    }
}
