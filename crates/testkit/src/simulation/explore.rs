//! Running many seeds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The variable that names the only seed to run.
const SEED: &str = "FLUGS_SIM_SEED";
/// The variable that says how many seeds are run.
const SEEDS: &str = "FLUGS_SIM_SEEDS";

/// Checks the seeds `0..seeds`, a part on each core, each on one thread. The variable `FLUGS_SIM_SEEDS` sets another
/// number; `FLUGS_SIM_SEED` names the only seed to be checked. `command` is what runs the test again.
///
/// # Panics
/// With what the check says of the lowest seed that was found to fail, and the line that runs it again.
pub fn explore(command: &str, seeds: u64, check: impl Fn(u64) -> Result<(), String> + Sync) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let range = match number(SEED) {
        Some(only) => only..only.saturating_add(1),
        None => 0..number(SEEDS).unwrap_or(seeds),
    };
    let next = AtomicU64::new(range.start);
    let failed = AtomicBool::new(false);
    let failures = Mutex::new(Vec::new());
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= range.end {
                break;
            }
            if let Err(reason) = outcome(seed, &check) {
                failed.store(true, Ordering::Relaxed);
                failures.lock().unwrap_or_else(PoisonError::into_inner).push((seed, reason));
            }
        }
    };
    // The threads share nothing but the number of the next seed, and end with this call.
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((seed, reason)) = failures.into_iter().min() {
        panic!("seed {seed} fails: {reason}\n\nto run it again:\n{SEED}={seed} {command} -- --nocapture\n");
    }
}

fn outcome(seed: u64, check: &(impl Fn(u64) -> Result<(), String> + Sync)) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| check(seed))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(format!("panicked: {}", text.unwrap_or("no message")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_that_fails_is_named_with_the_line_that_runs_it_again() {
        let check = |seed| if seed == 7 { Err("lost a row".to_owned()) } else { Ok(()) };
        let panic = catch_unwind(|| explore("cargo test -p x", 20, check)).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains("seed 7 fails: lost a row"), "{text}");
        assert!(text.contains("FLUGS_SIM_SEED=7 cargo test -p x -- --nocapture"), "{text}");
    }

    #[test]
    fn every_seed_is_checked_once() {
        let seen = Mutex::new(Vec::new());
        explore("", 100, |seed| {
            seen.lock().unwrap().push(seed);
            Ok(())
        });
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }
}
