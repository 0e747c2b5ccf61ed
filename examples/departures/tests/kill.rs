//! The main job under `kill -9`: killed at random moments and started again, each time at another
//! parallelism, until it ends by itself. Its rows must equal the oracle's, and at no moment may a
//! reader of the output see a row twice, a wrong one or half of one.
//!
//! `FLUGS_KILLS` sets the number of kills, `FLUGS_KILL_SEED` the seed, which every message names.
//! The seed gives the same delays and parallelisms again; the instruction that a kill hits, it cannot.

mod job;
mod oracle;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use job::Job;
use oracle::Expected;

/// Kills over all runs, where the environment does not say otherwise.
const KILLS: u64 = 50;
/// A run that was killed so often is left to end, so that a run ends and there are several.
const KILLS_PER_RUN_MAX: u64 = 12;
/// Slow enough to be killed in the middle: the two months take two seconds.
const RATE_ROWS_PER_SECOND: u32 = 25_000;
const CHECKPOINT_INTERVAL_MS: u32 = 50;
const PARALLELISMS: [usize; 4] = [1, 2, 3, 8];

#[test]
fn killed_at_any_moment_the_rows_are_exact() {
    let expected = oracle::compute(&job::two_months());
    let seed =
        number_from_env("FLUGS_KILL_SEED").unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let kills_wanted = number_from_env("FLUGS_KILLS").unwrap_or(KILLS);
    let mut random = SplitMix64(seed);
    job::note(&format!("FLUGS_KILL_SEED={seed}"));

    let run_time = slow_job().start(2).finish("left alone");
    let (mut kills, mut runs) = (0, 0);
    while kills < kills_wanted {
        runs += 1;
        kills += killed_run(&expected, run_time, &mut random, &format!("in run {runs} of seed {seed}"));
        assert!(
            runs <= kills_wanted,
            "seed {seed}: runs end before they are killed: {kills} kills in {runs} runs"
        );
    }
    job::note(&format!("{kills} kills in {runs} runs; a run that is left alone takes {run_time:.1?}"));
}

fn slow_job() -> Job {
    Job::over(&job::two_months())
        .with("--rate", RATE_ROWS_PER_SECOND)
        .with("--checkpoint-interval-ms", CHECKPOINT_INTERVAL_MS)
}

/// One run from an empty output folder to its end; how often it was killed on the way.
fn killed_run(expected: &Expected, run_time: Duration, random: &mut SplitMix64, when: &str) -> u64 {
    let job = slow_job();
    for kills in 0..KILLS_PER_RUN_MAX {
        let parallelism = random.parallelism();
        let when = format!("after {kills} kills {when} at parallelism {parallelism}");
        let mut attempt = job.start(parallelism);
        if let Some(status) = attempt.ended_within(random.delay(run_time)) {
            attempt.assert_success(status, &when);
            job.assert_complete(expected, &when);
            return kills;
        }
        attempt.kill();
        job.assert_no_surplus(expected, &format!("killed {when}"));
    }
    let when = format!("after {KILLS_PER_RUN_MAX} kills {when}");
    job.start(random.parallelism()).finish(&when);
    job.assert_complete(expected, &when);
    job.start(random.parallelism()).finish(&format!("started again {when}"));
    job.assert_complete(expected, &format!("started again {when}"));
    KILLS_PER_RUN_MAX
}

fn number_from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// Steele, Lea and Flood's generator: any seed is a good one.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn parallelism(&mut self) -> usize {
        PARALLELISMS[(self.next() % PARALLELISMS.len() as u64) as usize]
    }

    /// How long an attempt is left to run: every other one is killed in its first tenth, where it
    /// restores and commits what the last one left; the rest anywhere in the first half.
    fn delay(&mut self, run_time: Duration) -> Duration {
        let most = if self.next().is_multiple_of(2) { run_time / 10 } else { run_time / 2 };
        Duration::from_micros(self.next() % (most.as_micros() as u64).max(1))
    }
}
