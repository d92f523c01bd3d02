//! A model's event logs and leases.

use store::{Owner, StoreError, StoredItem};

use super::{Model, ModelResponse};

impl Model {
    /// Adds events, as the runner of this epoch.
    pub(crate) fn append(
        &mut self,
        owner: &Owner,
        id: &str,
        epoch: u64,
        count: u64,
    ) -> Result<(), StoreError> {
        let index = self.find(owner, id)?;
        let response = &mut self.responses[index];
        if response.ended.is_some() || response.epoch != epoch || response.released {
            return Err(StoreError::LeaseLost);
        }
        if !response.background {
            return Err(StoreError::Sequence { expected: 0 });
        }
        response.begun = true;
        response.events += count;
        Ok(())
    }

    /// Adds items to an output, as the runner of this epoch.
    pub(crate) fn add_output(
        &mut self,
        owner: &Owner,
        id: &str,
        epoch: u64,
        items: &[StoredItem],
    ) -> Result<(), StoreError> {
        let index = self.find(owner, id)?;
        let response = &mut self.responses[index];
        if response.ended.is_some() || response.epoch != epoch || response.released {
            return Err(StoreError::LeaseLost);
        }
        if response.background {
            return Err(StoreError::Sequence { expected: 0 });
        }
        response.output.extend_from_slice(items);
        Ok(())
    }

    /// Claims what waits longest. Returns its owner and id.
    pub(crate) fn claim(&mut self) -> Option<(Owner, String, u64)> {
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
        Some(self.take(key))
    }

    pub(crate) fn sweep(&mut self) -> Vec<(Owner, String, u64)> {
        let (now, claims) = (self.now, self.limits.claims);
        let lost = |r: &&ModelResponse| r.ended.is_none() && r.lease <= now && (r.begun || r.tries >= claims);
        let mut keys: Vec<u64> = self.responses.iter().filter(lost).map(|r| r.key).collect();
        keys.sort_unstable();
        keys.into_iter().map(|key| self.take(key)).collect()
    }

    fn take(&mut self, key: u64) -> (Owner, String, u64) {
        let lease = self.now + self.limits.lease;
        let response = self.responses.iter_mut().find(|r| r.key == key).unwrap();
        response.epoch += 1;
        response.released = false;
        response.tries += 1;
        response.lease = lease;
        (response.owner.clone(), response.id.clone(), response.epoch)
    }

    /// Takes what hasn't ended. Returns its epoch.
    pub(crate) fn fence(&mut self, owner: &Owner, id: &str) -> Result<Option<u64>, StoreError> {
        let index = self.find(owner, id)?;
        let response = &mut self.responses[index];
        if response.ended.is_some() {
            return Ok(None);
        }
        response.epoch += 1;
        response.released = false;
        response.lease = self.now + self.limits.lease;
        Ok(Some(response.epoch))
    }

    /// Returns whether the lease was held.
    pub(crate) fn renew(&mut self, owner: &Owner, id: &str, epoch: u64) -> bool {
        let end = self.now + self.limits.lease;
        let Ok(index) = self.find(owner, id) else { return false };
        let response = &mut self.responses[index];
        let held = response.ended.is_none() && response.epoch == epoch && !response.released;
        if held {
            response.lease = end;
        }
        held
    }

    /// Gives back what was claimed and not begun.
    pub(crate) fn release(&mut self, owner: &Owner, id: &str, epoch: u64) -> Result<(), StoreError> {
        let index = self.find(owner, id)?;
        let response = &mut self.responses[index];
        let waits = response.background && !response.begun && response.ended.is_none();
        if !waits || response.epoch != epoch || response.released {
            return Err(StoreError::LeaseLost);
        }
        response.released = true;
        response.lease = 0;
        response.tries -= 1;
        Ok(())
    }

    pub(crate) fn reopen(&mut self) {
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
