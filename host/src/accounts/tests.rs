//! Tests of accounts.

use super::cpu::CpuShare;
use super::*;

const MIB: usize = 1 << 20;

fn accounts(memory: usize, principals: usize) -> Accounts {
    Accounts::new(&Limits { request_memory: memory, ..Limits::default() }, principals)
}

#[test]
fn what_an_account_holds_goes_back_with_it() {
    let accounts = accounts(16 * MIB, 1);
    let mut one = accounts.open(Principal(0));
    assert_eq!(one.hold(10 * MIB), Ok(()));
    assert_eq!(accounts.open(Principal(0)).hold(5 * MIB), Err(Overdrawn::PrincipalMemory));
    assert_eq!((one.held(), accounts.memory_held()), (10 * MIB, 10 * MIB));
    drop(one);
    assert_eq!(accounts.memory_held(), 0);
    assert_eq!(accounts.open(Principal(0)).hold(14 * MIB), Ok(()));
}

#[test]
fn large_requests_leave_room_for_small_ones() {
    let accounts = accounts(16 * MIB, 1);
    let mut large = accounts.open(Principal(0));
    assert_eq!(large.hold(14 * MIB), Ok(()));
    assert!(large.hold(1).is_err());
    let mut small: Vec<Account> = (0..8).map(|_| accounts.open(Principal(0))).collect();
    assert!(small.iter_mut().all(|account| account.hold(256 << 10).is_ok()));
    assert_eq!(accounts.memory_held(), 16 * MIB);
    assert!(accounts.open(Principal(0)).hold(1).is_err());
}

#[test]
fn one_key_of_several_holds_half_at_the_most() {
    let accounts = accounts(32 * MIB, 2);
    let (mut one, mut other) = (accounts.open(Principal(0)), accounts.open(Principal(1)));
    assert_eq!(one.hold(14 * MIB), Ok(()));
    assert_eq!(one.hold(MIB), Err(Overdrawn::PrincipalMemory));
    assert_eq!(other.hold(14 * MIB), Ok(()));
    assert_eq!(accounts.memory_held(), 28 * MIB);
}

#[test]
fn cpu_time_runs_out_and_comes_back() {
    let now = Instant::now();
    let share = CpuShare::new(100);
    let mut bucket = share.bucket(now);
    let cores = u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap();
    assert_eq!(bucket.book(Duration::from_secs(20) * cores, now), Ok(()));
    let wait = bucket.book(Duration::from_secs(1) * cores, now).unwrap_err();
    assert_eq!(wait.as_millis(), 1000);
    assert_eq!(bucket.book(Duration::ZERO, now + Duration::from_millis(1100)), Ok(()));
    // However long nothing comes, no more gathers than one burst.
    let later = now + Duration::from_hours(1);
    assert!(bucket.book(Duration::from_secs(21) * cores, later).is_err());
}

#[test]
fn a_meter_counts_what_its_work_takes_and_is_booked_once() {
    let accounts = accounts(MIB, 1);
    let account = accounts.open(Principal(0));
    let meter = account.meter();
    let sum = meter.run(|| (0..1000_u64).map(std::hint::black_box).sum::<u64>());
    assert_eq!(sum, 499_500);
    assert!(meter.take() > Duration::ZERO);
    assert_eq!(meter.take(), Duration::ZERO);
}
