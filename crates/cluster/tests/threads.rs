//! A runtime that is dropped leaves no thread behind. Alone in its process, so that threads can be counted.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "life/jobs.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod jobs;

use flugs_cluster::{JobHandle, Runtime, submit};
use flugs_connector::MemorySink;
use jobs::*;
use std::sync::Arc;
use std::time::Duration;

/// How many threads of the engine there are.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    };
    tasks.filter_map(name).filter(|name| name.starts_with("flugs-")).count()
}

fn comes_to_rest() {
    for _ in 0..5000 {
        if threads() == 0 {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
    panic!("{} threads are left", threads());
}

fn finite(runtime: &Runtime) -> JobHandle {
    let parts = Parts::new(numbers(Some(1000), None), &MemorySink::new());
    submit(runtime, parts.job(), options(&Arc::default()))
}

#[test]
fn all_threads_go_with_the_runtime_and_its_last_job() {
    for make in [|| Runtime::with_workers(3), Runtime::thread_per_task] {
        // Unused; used and dropped after its job; dropped before its job ends, and before its job is cancelled.
        drop(make());
        comes_to_rest();
        let runtime = make();
        let job = finite(&runtime);
        job.wait().unwrap();
        drop(runtime);
        comes_to_rest();
        let handle = finite(&make());
        handle.wait().unwrap();
        comes_to_rest();
        let parts = Parts::new(numbers(None, Some(1000.0)), &MemorySink::new());
        let endless = submit(&make(), parts.job(), options(&Arc::default()));
        endless.wait_until(SOON, |report| report.checkpoints > 0);
        assert!(threads() > 0);
        endless.cancel();
        endless.wait().unwrap();
        comes_to_rest();
        drop((job, handle));
    }
}
