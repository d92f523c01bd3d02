//! Random operations: an engine's count equals its living leases, and the bound holds.

use proptest::prelude::*;

use super::*;
use crate::routing::EngineStatus;

const ENGINES: usize = 6;

#[derive(Clone, Debug)]
enum Operation {
    Select { key: u64, usable: u8, excluded: Option<usize> },
    Drop(usize),
    Succeed(usize),
    Fail(usize),
    List(u8),
    Up(usize, bool),
    LoadReport(usize, ReportedLoad),
    Wait(u64),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let load = (0..20u32, 0..4u32, proptest::option::of(0.0..1.0f32));
    let load = load.prop_map(|(running, waiting, kv_used)| ReportedLoad { running, waiting, kv_used });
    let excluded = proptest::option::of(0..ENGINES);
    let select = (0..9u64, any::<u8>(), excluded).prop_map(|(key, usable, excluded)| Operation::Select {
        key,
        usable: usable | 3,
        excluded,
    });
    let operation = prop_oneof![
        20 => select,
        6 => any::<usize>().prop_map(Operation::Drop),
        1 => any::<usize>().prop_map(Operation::Succeed),
        3 => any::<usize>().prop_map(Operation::Fail),
        1 => any::<u8>().prop_map(Operation::List),
        1 => (0..ENGINES, any::<bool>()).prop_map(|(engine, up)| Operation::Up(engine, up)),
        2 => (0..ENGINES, load).prop_map(|(engine, load)| Operation::LoadReport(engine, load)),
        1 => (0..8u64).prop_map(Operation::Wait),
    ];
    proptest::collection::vec(operation, 1..300)
}

fn is_in(mask: u8, engine: usize) -> bool {
    mask & (1 << engine) != 0
}

/// Candidates for a request; full engines only if all are full.
fn candidates(status: &[EngineStatus], accepts: impl Fn(&EngineStatus) -> bool) -> Vec<&EngineStatus> {
    let available: Vec<_> = status.iter().filter(|engine| engine.available && accepts(engine)).collect();
    let roomy: Vec<_> = available.iter().copied().filter(|engine| !engine.full).collect();
    if roomy.is_empty() { available } else { roomy }
}

/// Whether the load is below what the mean of the candidates and the engine's own slots allow.
fn below_bound(engine: &EngineStatus, candidates: &[&EngineStatus]) -> bool {
    let total: u32 = candidates.iter().map(|engine| engine.in_flight + engine.others).sum();
    let count = u32::try_from(candidates.len()).unwrap();
    let of_mean = |percent: u32| (total * percent).div_ceil(100 * count);
    let bound = of_mean(125).max(engine.slots.unwrap().min(of_mean(175).max(8)));
    engine.in_flight + engine.others < bound
}

proptest! {
    #[test]
    fn counts_equal_leases_and_the_bound_holds(operations in operations()) {
        let mut now = Instant::now();
        let router = router(ENGINES);
        let mut leases: Vec<EngineLease<usize>> = Vec::new();
        for operation in operations {
            match operation {
                Operation::Select { key, usable, excluded } => {
                    let before = router.status(now);
                    let excluded: Vec<_> = excluded.map(name).into_iter().collect();
                    if let Ok(lease) = router.select(key, |&engine| is_in(usable, engine), &excluded, now) {
                        let accepts = |engine: &EngineStatus| {
                            let number = (0..ENGINES).find(|&number| name(number) == engine.name).unwrap();
                            is_in(usable, number) && !excluded.contains(&engine.name)
                        };
                        let candidates = candidates(&before, accepts);
                        let chosen = candidates.iter().find(|engine| engine.name == *lease.name());
                        prop_assert!(chosen.is_some_and(|chosen| below_bound(chosen, &candidates)));
                        leases.push(lease);
                    }
                }
                Operation::Drop(at) if !leases.is_empty() => drop(leases.swap_remove(at % leases.len())),
                Operation::Succeed(at) if !leases.is_empty() => { let at = at % leases.len(); leases[at].succeeded(); }
                Operation::Fail(at) if !leases.is_empty() => { let at = at % leases.len(); leases[at].failed(now); }
                Operation::List(mask) => list(&router, (0..ENGINES).filter(|&engine| is_in(mask, engine))),
                Operation::Up(engine, up) => router.set_up(&name(engine), up),
                Operation::LoadReport(engine, load) => router.report(&name(engine), load, now),
                Operation::Wait(time) => now += seconds(time),
                Operation::Drop(_) | Operation::Succeed(_) | Operation::Fail(_) => {}
            }
            for engine in router.status(now) {
                let alive = leases.iter().filter(|lease| *lease.name() == engine.name).count();
                prop_assert_eq!(engine.in_flight as usize, alive);
            }
        }
        drop(leases);
        prop_assert!(router.status(now).iter().all(|engine| engine.in_flight == 0));
    }
}
