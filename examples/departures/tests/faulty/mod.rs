//! The demo over a feed that a test can spoil, and disks that a test can fill.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::job::{self, Job};
use crate::oracle::{self, Expected};

/// A process that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Lines of the two inputs, without line ends.
#[derive(Clone)]
pub(crate) struct Feed {
    pub(crate) departures: Vec<Vec<u8>>,
    pub(crate) weather: Vec<Vec<u8>>,
}

impl Feed {
    /// The first lines of the two months.
    pub(crate) fn first(departures: usize, weather: usize) -> Feed {
        let lines = |name: &str, n| {
            let file = fs::File::open(job::two_months().join(name)).expect("the two months are there");
            let lines = BufReader::new(flate2::read::GzDecoder::new(file)).split(b'\n').take(n);
            lines.collect::<Result<_, _>>().expect("the two months can be read")
        };
        Feed {
            departures: lines("departures.jsonl.gz", departures),
            weather: lines("weather.jsonl.gz", weather),
        }
    }

    pub(crate) fn write_to(&self, folder: &Path) {
        for (name, lines) in [("departures", &self.departures), ("weather", &self.weather)] {
            let text: Vec<u8> = lines.iter().flat_map(|line| line.iter().chain(b"\n")).copied().collect();
            fs::write(folder.join(format!("{name}.jsonl.gz")), gzip(&text)).expect("the feed can be written");
        }
    }

    pub(crate) fn expected(&self) -> Expected {
        let folder = tempfile::tempdir().expect("a scratch folder");
        self.write_to(folder.path());
        oracle::compute(folder.path())
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory can be written")
}

/// The demo over a folder of data of its own.
pub(crate) struct Demo {
    data: TempDir,
    pub(crate) job: Job,
}

impl Demo {
    pub(crate) fn over(feed: &Feed) -> Demo {
        let data = tempfile::tempdir().expect("a scratch folder");
        feed.write_to(data.path());
        Demo { job: Job::over(data.path()), data }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.data.path().to_owned()
    }

    pub(crate) fn start(&self, options: &[&str]) -> Running {
        self.start_over(self.data.path(), options)
    }

    fn start_over(&self, data: &Path, options: &[&str]) -> Running {
        let stderr = tempfile::NamedTempFile::new().expect("a file for stderr");
        let child = Command::new(env!("CARGO_BIN_EXE_departures"))
            .arg("--data")
            .arg(data)
            .arg("--out")
            .arg(self.job.out())
            .args(options)
            .env("RUST_BACKTRACE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr.reopen().expect("a file for stderr"))
            .spawn()
            .expect("the departures binary starts");
        Running { child, stderr }
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, options: &[&str]) -> Ended {
        self.start(options).wait()
    }

    pub(crate) fn run_over(&self, data: &Path, options: &[&str]) -> Ended {
        self.start_over(data, options).wait()
    }

    /// How many manifests there are.
    pub(crate) fn checkpoints(&self) -> usize {
        let folders = fs::read_dir(self.job.out().join("checkpoints/departures"));
        folders.into_iter().flatten().flatten().filter(|f| f.path().join("manifest").exists()).count()
    }

    /// Leaves a run behind that was killed when it had checkpoints.
    pub(crate) fn kill_after_a_checkpoint(&self, options: &[&str]) {
        let mut running = self.start(options);
        running.wait_for(|| self.checkpoints() > 1);
        running.child.kill().expect("a running process can be killed");
        let ended = running.wait();
        assert!(!ended.status.success(), "it was to be killed before its end");
    }
}

/// One process. It is killed where the test gives up on it.
pub(crate) struct Running {
    child: Child,
    stderr: tempfile::NamedTempFile,
}

impl Running {
    #[expect(clippy::disallowed_methods, reason = "a real process is awaited by the real clock")]
    pub(crate) fn wait_for(&mut self, mut done: impl FnMut() -> bool) {
        let start = Instant::now();
        while !done() {
            let ended = self.child.try_wait().expect("the process can be asked for its end");
            assert!(ended.is_none(), "it has ended: {}", self.stderr());
            assert!(start.elapsed() < LIMIT, "it hangs: {}", self.stderr());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(sent.expect("kill starts").success(), "the process can be signalled");
    }

    #[expect(clippy::disallowed_methods, reason = "a real process is awaited by the real clock")]
    pub(crate) fn wait(mut self) -> Ended {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("the process can be asked for its end") {
                return Ended { status, stderr: self.stderr() };
            }
            assert!(start.elapsed() < LIMIT, "it hangs: {}", self.stderr());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn stderr(&self) -> String {
        fs::read_to_string(self.stderr.path()).expect("stderr was written to a file, as text")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails only where the process has ended and been awaited, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a process ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn assert_ok(&self, when: &str) {
        assert!(self.status.success(), "{when}: {}: {}", self.status, self.stderr);
        self.assert_calm(when);
    }

    /// Exit code 1, and a last line of stderr that says all of this.
    pub(crate) fn assert_failed(&self, when: &str, says: &[&str]) {
        assert_eq!(self.status.code(), Some(1), "{when}: {}", self.stderr);
        self.assert_calm(when);
        let last = self.stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with("departures: "), "{when}: {}", self.stderr);
        for word in says {
            assert!(last.contains(word), "{when}: `{word}` is not said: {}", self.stderr);
        }
    }

    fn assert_calm(&self, when: &str) {
        for word in ["panicked", "RUST_BACKTRACE", "backtrace", "internal error"] {
            assert!(!self.stderr.contains(word), "{when}: {}", self.stderr);
        }
    }
}

/// A small disk in memory, where this process may mount one.
pub(crate) struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// `None`, with a note, where mounting is refused.
    pub(crate) fn mount(folder: &Path, options: &str) -> Option<Disk> {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(folder).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Disk { folder: folder.to_owned() });
        }
        job::note("skipped: full and read-only disks; this user may not mount a small one");
        None
    }

    /// Fills it up but for so many bytes.
    pub(crate) fn leave_room(&self, bytes: usize) {
        let ballast = self.folder.join(".ballast");
        let mut file = fs::File::create(&ballast).expect("the disk takes a file");
        while file.write_all(&[0; 4096]).is_ok() {}
        let filled = file.metadata().expect("the file is there").len();
        file.set_len(filled.saturating_sub(bytes as u64)).expect("a file can be cut");
    }

    /// Makes room.
    pub(crate) fn grow(&self, size: &str) {
        self.options(&format!("remount,size={size}"));
    }

    pub(crate) fn options(&self, options: &str) {
        let mount = Command::new("mount").args(["-o", options]).arg(&self.folder).status();
        assert!(mount.expect("mount starts").success(), "{options}");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, so that it goes in whatever state the test leaves it.
        let _ = Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}
