//! Compiled components in use, by the digest of their content, so that models of one process share
//! them.
//!
//! Invariant: while a plugin with some content is alive or being loaded, that content isn't
//! compiled again. Loads of one content wait for each other, loads of different contents don't.
//! Called by `load`; a plugin's factory keeps its component alive.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use wasmtime::component::Component;

use super::error::LoadProblem;

/// A content's component, locked while it is compiled.
type Slot = Arc<Mutex<Weak<Component>>>;

/// Compiled components in use.
#[derive(Default)]
pub(super) struct CompiledComponents(Mutex<HashMap<String, Slot>>);

impl CompiledComponents {
    /// Returns the component of this digest: the one in use, else the one that `compile` makes.
    pub(super) fn get_or(
        &self,
        digest: &str,
        compile: impl FnOnce() -> Result<Component, LoadProblem>,
    ) -> Result<Arc<Component>, LoadProblem> {
        let slot = self.slot(digest);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(component) = slot.upgrade() {
            return Ok(component);
        }
        let component = Arc::new(compile()?);
        *slot = Arc::downgrade(&component);
        Ok(component)
    }

    /// The slot for this digest. Slots of components that nobody uses any more are removed.
    fn slot(&self, digest: &str) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let in_use = |slot: &Slot| slot.try_lock().map_or(true, |component| component.strong_count() > 0);
        slots.retain(|_, slot| Arc::strong_count(slot) > 1 || in_use(slot));
        Arc::clone(slots.entry(digest.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use wasmtime::Engine;

    use super::*;

    #[test]
    fn content_compiles_once_for_all_concurrent_loads() {
        const LOADS: usize = 4;
        let (engine, compiled) = (Engine::default(), CompiledComponents::default());
        let (count, together) = (AtomicUsize::new(0), Barrier::new(LOADS));
        let compile = || {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(Component::new(&engine, b"\0asm\x0d\0\x01\0").expect("an empty component"))
        };
        let load = || {
            together.wait();
            let component = compiled.get_or("a", compile).expect("it compiles");
            together.wait();
            component
        };
        let loaded: Vec<_> = std::thread::scope(|scope| {
            let loads: Vec<_> = (0..LOADS).map(|_| scope.spawn(load)).collect();
            loads.into_iter().map(|load| load.join().expect("it ends")).collect()
        });
        assert_eq!(count.load(Ordering::Relaxed), 1);
        assert!(loaded.iter().all(|component| Arc::ptr_eq(component, &loaded[0])));
        let other = compiled.get_or("b", compile).expect("it compiles");
        assert_eq!((count.load(Ordering::Relaxed), compiled.0.lock().unwrap().len()), (2, 2));
        drop((loaded, other));
        compiled.get_or("a", compile).expect("it compiles");
        assert_eq!(count.load(Ordering::Relaxed), 3, "nobody kept it");
        assert_eq!(compiled.0.lock().unwrap().len(), 1, "nor its slot");
    }
}
