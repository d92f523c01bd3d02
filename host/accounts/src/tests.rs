//! Tests of accounts.

use super::cpu::CpuShare;
use super::*;
use system::cpu_clock::thread_cpu_time;

const MIB: usize = 1 << 20;

fn accounts(memory: usize, principals: usize) -> Accounts {
    Accounts::new(&AccountLimits { memory, ..AccountLimits::default() }, principals)
}

#[test]
fn what_an_account_holds_goes_back_with_it() {
    let accounts = accounts(16 * MIB, 1);
    let mut one = accounts.open(Principal::default());
    assert_eq!(one.hold(10 * MIB), Ok(()));
    assert_eq!(accounts.open(Principal::default()).hold(5 * MIB), Err(Overdrawn::PrincipalMemory));
    assert_eq!((one.held(), accounts.memory_held()), (10 * MIB, 10 * MIB));
    drop(one);
    assert_eq!(accounts.memory_held(), 0);
    assert_eq!(accounts.open(Principal::default()).hold(14 * MIB), Ok(()));
}

#[test]
fn large_requests_leave_room_for_small_ones() {
    let accounts = accounts(16 * MIB, 1);
    let mut large = accounts.open(Principal::default());
    assert_eq!(large.hold(14 * MIB), Ok(()));
    assert!(large.hold(1).is_err());
    let mut small: Vec<Account> = (0..8).map(|_| accounts.open(Principal::default())).collect();
    assert!(small.iter_mut().all(|account| account.hold(256 << 10).is_ok()));
    assert_eq!(accounts.memory_held(), 16 * MIB);
    assert!(accounts.open(Principal::default()).hold(1).is_err());
}

#[test]
fn one_key_of_several_holds_half_at_the_most() {
    let accounts = accounts(32 * MIB, 2);
    let (mut one, mut other) = (accounts.open(Principal::default()), accounts.open(Principal::new("other")));
    assert_eq!(one.hold(14 * MIB), Ok(()));
    assert_eq!(one.hold(MIB), Err(Overdrawn::Request { most: 14 * MIB }));
    let mut second = accounts.open(Principal::default());
    assert_eq!(second.hold(3 * MIB), Err(Overdrawn::PrincipalMemory));
    assert_eq!(other.hold(14 * MIB), Ok(()));
    assert_eq!(accounts.memory_held(), 28 * MIB);
}

#[test]
fn the_largest_account_is_the_largest_that_is_given() {
    for (memory, principals) in [(16 * MIB, 1), (32 * MIB + 5, 1), (32 * MIB, 2), (37 * MIB + 3, 3)] {
        let limits = AccountLimits { memory, ..AccountLimits::default() };
        let largest = largest_account(&limits, principals);
        let accounts = Accounts::new(&limits, principals);
        assert_eq!(accounts.open(Principal::default()).hold(largest), Ok(()));
        assert!(accounts.open(Principal::default()).hold(largest + 1).is_err());
    }
}

#[test]
fn cpu_time_runs_out_and_comes_back() {
    let now = Instant::now();
    let share = CpuShare::new(100);
    let mut bucket = share.bucket(now);
    let cores = u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap();
    bucket.book(Duration::from_secs(20) * cores, now);
    assert_eq!(bucket.check(now), Ok(()));
    bucket.book(Duration::from_secs(1) * cores, now);
    assert_eq!(bucket.check(now).unwrap_err().as_millis(), 1000);
    assert_eq!(bucket.check(now + Duration::from_millis(1100)), Ok(()));
    // However long the idle time, only one burst accumulates.
    let later = now + Duration::from_hours(1);
    bucket.book(Duration::from_secs(21) * cores, later);
    assert!(bucket.check(later).is_err());
}

#[test]
fn meter_books_its_work_even_after_the_account_closes() {
    let accounts = Accounts::new(&AccountLimits { cpu: 1, ..AccountLimits::default() }, 2);
    let account = accounts.open(Principal::default());
    let meter = account.meter();
    drop(account);
    // At one percent of the cores, 20 s of CPU time accumulate at most.
    let cores = u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap();
    let enough = Duration::from_millis(250) * cores;
    let sum = meter.run(|| {
        let began = thread_cpu_time();
        while thread_cpu_time() < began + enough {}
        1
    });
    assert_eq!(sum, 1);
    assert!(matches!(accounts.open(Principal::default()).check_cpu(), Err(Overdrawn::Cpu { .. })));
    assert_eq!(accounts.open(Principal::new("other")).check_cpu(), Ok(()), "it is nobody else's");
}
