use crate::jobs::*;
use flugs_cluster::{JobStatus, Runtime, submit};
use flugs_connector::MemorySink;
use std::sync::Arc;

#[test]
fn more_subtasks_than_rows() {
    let sink = MemorySink::new();
    let mut parts = Parts::new(numbers(Some(40), None), &sink);
    parts.parallelism = 60;
    let report = submit(&Runtime::with_workers(2), parts.job(), options(&Arc::default())).wait().unwrap();
    assert_eq!(report.status, JobStatus::Finished);
    assert_eq!(sorted(&sink), (0..40).collect::<Vec<_>>());
}

#[test]
fn no_rows_at_all() {
    for runtime in [Runtime::with_workers(1), Runtime::thread_per_task()] {
        let sink = MemorySink::new();
        let parts = Parts::new(numbers(Some(0), None), &sink);
        let report = submit(&runtime, parts.job(), options(&Arc::default())).wait().unwrap();
        assert_eq!(report.status, JobStatus::Finished);
        assert!(sink.is_empty());
    }
}

#[test]
fn many_small_jobs_at_once_on_one_runtime() {
    let runtime = Runtime::with_workers(2);
    let jobs: Vec<_> = (0..50)
        .map(|i| {
            let sink = MemorySink::new();
            let mut parts = Parts::new(numbers(Some(100 + i), None), &sink);
            parts.parallelism = 1 + i as u32 % 3;
            (submit(&runtime, parts.job(), options(&Arc::default())), sink)
        })
        .collect();
    for ((job, sink), i) in jobs.into_iter().zip(0..) {
        assert_eq!(job.wait().unwrap().status, JobStatus::Finished);
        assert_eq!(sorted(&sink), (0..100 + i).collect::<Vec<u64>>());
    }
}
