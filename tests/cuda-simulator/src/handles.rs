//! Handles of the library's objects: numbers in the shape of pointers, never reused, so that a
//! handle of something destroyed or foreign is found.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Objects of one kind by handle.
#[derive(Debug)]
pub(crate) struct Handles<T>(HashMap<usize, T>);

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

/// A number that no handle of this process has.
pub(crate) fn unique() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0x5a00_0000_0000);
    NEXT.fetch_add(16, Ordering::Relaxed)
}

impl<T> Handles<T> {
    /// Keeps an object; returns its handle.
    pub(crate) fn add<H>(&mut self, object: T) -> *mut H {
        let handle = unique();
        self.0.insert(handle, object);
        handle as *mut H
    }

    pub(crate) fn get<H>(&self, handle: *mut H) -> Option<&T> {
        self.0.get(&(handle as usize))
    }

    pub(crate) fn get_mut<H>(&mut self, handle: *mut H) -> Option<&mut T> {
        self.0.get_mut(&(handle as usize))
    }

    pub(crate) fn remove<H>(&mut self, handle: *mut H) -> Option<T> {
        self.0.remove(&(handle as usize))
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.values_mut()
    }

    pub(crate) fn keys(&self) -> Vec<usize> {
        self.0.keys().copied().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
