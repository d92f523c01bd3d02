//! Bound on waiting requests, shared by principals, so that those of one never make a server refuse
//! another's.
//!
//! With several principals, each may have as many places as are free after it (a dynamic threshold;
//! Choudhury and Hahne 1998, "Dynamic queue length thresholds for shared-memory packet switches"):
//! one that asks for all gets half of them, each of n gets one of n + 1 parts, and a part is left
//! for the next. Invariant: at most `limit` places are taken.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::SubmitError;

/// Places for waiting requests. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WaitingRoom {
    limit: usize,
    is_shared: bool,
    /// Number of places that each principal has taken; none is 0.
    taken: Arc<Mutex<HashMap<u64, usize>>>,
}

/// The place of one request, given back when the request stops waiting or this is dropped.
#[derive(Debug)]
pub struct Place {
    room: WaitingRoom,
    principal: u64,
    is_taken: bool,
}

impl WaitingRoom {
    /// A room with `limit` places for `principals` principals. A single one may take all of them.
    pub fn new(limit: usize, principals: usize) -> Self {
        Self { limit, is_shared: principals > 1, taken: Arc::default() }
    }

    /// Takes a place for a request of `principal`.
    ///
    /// # Errors
    /// [`SubmitError::Busy`]: the room is full, or the principal has its part of it.
    pub fn enter(&self, principal: u64) -> Result<Place, SubmitError> {
        let mut taken = self.lock();
        let all: usize = taken.values().sum();
        let own = taken.get(&principal).copied().unwrap_or(0);
        let free = self.limit.saturating_sub(all);
        if free == 0 || (self.is_shared && own >= free) {
            return Err(SubmitError::Busy(all));
        }
        taken.insert(principal, own + 1);
        Ok(Place { room: self.clone(), principal, is_taken: true })
    }

    /// Takes a place for a request whose output has begun, though the room may be full: it can't be
    /// refused any more.
    pub(crate) fn enter_again(&self, principal: u64) -> Place {
        let mut place = Place { room: self.clone(), principal, is_taken: false };
        place.take_again();
        place
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Gives the place back: the request no longer waits.
    pub(crate) fn leave(&mut self) {
        if !std::mem::take(&mut self.is_taken) {
            return;
        }
        let mut taken = self.room.lock();
        let left = taken.remove(&self.principal).unwrap_or(0).saturating_sub(1);
        if left > 0 {
            taken.insert(self.principal, left);
        }
    }

    /// Takes the place again, though the room may be full: a request that was preempted can't be
    /// refused any more.
    pub(crate) fn take_again(&mut self) {
        if !std::mem::replace(&mut self.is_taken, true) {
            *self.room.lock().entry(self.principal).or_default() += 1;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, WaitingRoom};
    use crate::error::SubmitError;

    /// Places that a principal gets when it asks for as many as there are.
    fn fill(room: &WaitingRoom, principal: u64) -> Vec<Place> {
        std::iter::from_fn(|| room.enter(principal).ok()).collect()
    }

    #[test]
    fn one_principal_may_take_every_place() {
        let room = WaitingRoom::new(5, 1);
        let places = fill(&room, 0);
        assert_eq!(places.len(), 5);
        drop(places);
        assert_eq!(fill(&room, 0).len(), 5);
    }

    #[test]
    fn principals_asking_for_all_places_leave_some() {
        let room = WaitingRoom::new(1024, 9);
        let places: Vec<_> = (0..9).map(|principal| fill(&room, principal)).collect();
        let counts: Vec<_> = places.iter().map(Vec::len).collect();
        assert_eq!(counts, [512, 256, 128, 64, 32, 16, 8, 4, 2]);
        drop(places);
        // Where they come one after the other, all but the first get equal parts.
        let mut places: Vec<Vec<Place>> = (0..4).map(|_| Vec::new()).collect();
        for _ in 0..1024 {
            for (principal, own) in (0..).zip(&mut places) {
                own.extend(room.enter(principal).ok());
            }
        }
        assert!(places.iter().all(|own| (204..=205).contains(&own.len())), "a fifth each");
        assert!(room.enter(9).is_ok());
    }

    #[test]
    fn request_waiting_again_counts_even_in_a_full_room() {
        let room = WaitingRoom::new(2, 1);
        let mut begun = room.enter(0).unwrap();
        begun.leave();
        let _waiting = fill(&room, 0);
        begun.take_again();
        assert_eq!(room.enter(0).unwrap_err(), SubmitError::Busy(3));
    }

    #[test]
    fn the_smallest_rooms_have_a_place_for_another() {
        for limit in 2..6 {
            let room = WaitingRoom::new(limit, 2);
            let _first = fill(&room, 0);
            assert!(room.enter(1).is_ok(), "{limit}");
        }
    }
}
