//! What the process has taken from the machine: processor time and memory, as the system counts them.

use std::fs;

/// Processor seconds of all threads so far, of user and system together.
pub(crate) fn cpu_seconds() -> f64 {
    // SAFETY: a zeroed `rusage` is a valid value, and the call only writes to it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Processor nanoseconds of the calling thread so far.
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes to `time`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Makes the present resident memory the peak, where the system lets it (Linux).
pub(crate) fn reset_peak() {
    // Where it does not, the peak is that of the process, which is only too high.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The most memory that was resident at once since the last reset, in MB; 0 where it is not known.
pub(crate) fn peak_mb() -> f64 {
    of_status("VmHWM:")
}

/// The memory that is resident now, in MB; 0 where it is not known.
pub(crate) fn resident_mb() -> f64 {
    of_status("VmRSS:")
}

fn of_status(field: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0 / 1e6
}

/// The machine in a few words: cores, processor, and how busy it is by others.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": ")).map(|(_, m)| m);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown");
    format!("{cores} cores, {}, load average at the start {load}", model.unwrap_or("unknown processor"))
}
