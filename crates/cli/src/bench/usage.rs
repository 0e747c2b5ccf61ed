//! Processor time and memory of this process.

use std::fs;

/// The ticks a second of the numbers in `/proc`.
const TICKS: f64 = 100.0;

/// Processor seconds of all threads so far; none where the system does not say.
pub(super) fn processor_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, which may hold anything, ends with the last parenthesis.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<f64>().ok());
    Some((ticks(11)? + ticks(12)?) / TICKS)
}

/// The most memory that was resident since [`reset_peak`], in megabytes.
pub(super) fn peak_megabytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024)
}

/// Counts the peak from now on, where the system can.
pub(super) fn reset_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}
