//! Last engine of each key: a bounded, set-associative table with LRU in each set, as in a CPU's
//! caches.
//!
//! An entry has 12 bytes and no links. Memory is allocated at the start as zeroed pages, which the
//! system provides when they are used. Evicting a key does no harm: rendezvous order finds the
//! key's engine again unless the key had been moved.

const WAYS: usize = 8;

/// Set of up to [`WAYS`] keys, the latest first. An entry with engine 0 is empty.
#[derive(Clone, Copy)]
struct Set {
    keys: [u64; WAYS],
    engines: [u32; WAYS],
}

/// Table from keys to ids of their last engines.
pub(super) struct LastEngines {
    /// Sets of the table; their number is a power of two, or 0 if no keys are remembered.
    sets: Vec<Set>,
}

impl LastEngines {
    /// Table with room for `keys`, rounded up to a power of two.
    pub(super) fn new(keys: usize) -> Self {
        let sets = if keys == 0 { 0 } else { keys.div_ceil(WAYS).next_power_of_two() };
        Self { sets: vec![Set { keys: [0; WAYS], engines: [0; WAYS] }; sets] }
    }

    /// Engine of `key`, which becomes the latest key of its set.
    pub(super) fn get(&mut self, key: u64) -> Option<u32> {
        let set = self.set(key)?;
        let at = set.find(key)?;
        let engine = set.engines[at];
        set.put_first(at, key, engine);
        Some(engine)
    }

    /// Sets the engine of `key`; the set's oldest key is evicted if there is no room.
    pub(super) fn insert(&mut self, key: u64, engine: u32) {
        if let Some(set) = self.set(key) {
            let at = set.find(key).unwrap_or(WAYS - 1);
            set.put_first(at, key, engine);
        }
    }

    fn set(&mut self, key: u64) -> Option<&mut Set> {
        let mask = self.sets.len().checked_sub(1)?;
        // Lossless: the mask is below the vector's length.
        #[allow(clippy::cast_possible_truncation)]
        self.sets.get_mut(seeded::mix(key) as usize & mask)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.sets.iter().flat_map(|set| set.engines).filter(|&engine| engine != 0).count()
    }
}

impl Set {
    fn find(&self, key: u64) -> Option<usize> {
        (0..WAYS).find(|&at| self.keys[at] == key && self.engines[at] != 0)
    }

    /// Moves the entries before `at` back by one and writes the first.
    fn put_first(&mut self, at: usize, key: u64, engine: u32) {
        self.keys.copy_within(..at, 1);
        self.engines.copy_within(..at, 1);
        self.keys[0] = key;
        self.engines[0] = engine;
    }
}
