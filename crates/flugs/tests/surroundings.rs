//! A fresh job in wrong surroundings says so at once, although its restart strategy would bear any failure.

use flugs::checkpoint::MemoryStore;
use flugs::prelude::*;
use std::sync::Arc;

#[test]
fn a_missing_input_fails_a_fresh_job_at_once() {
    let env = Environment::new("job");
    env.checkpoint_store(Arc::new(MemoryStore::default())).restart_strategy(RestartStrategy::exponential());
    let nowhere = std::env::temp_dir().join("flugs-no-such-folder").join("nope.txt");
    env.from_source(FileSource::new(&nowhere, Lines::new()), WatermarkStrategy::none(), "lines")
        .stream()
        .sink_to(BlackholeSink::new(), "nowhere");
    let job = env.execute_async().unwrap();
    let error = job.wait().unwrap_err().to_string();
    assert!(error.contains("nope.txt") && error.contains("source 'lines'"), "{error}");
    assert_eq!(job.report().restarts, 0);
}
