//! A pseudo terminal with the command in it, and the screen that a person would see.

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ROWS: u16 = 24;
const COLUMNS: u16 = 100;
/// How long something may take to appear, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a program asks to learn where the cursor is.
const WHERE: &[u8] = b"\x1b[6n";

/// The command in a terminal.
pub struct Terminal {
    keyboard: File,
    screen: Arc<Mutex<vt100::Parser>>,
    child: Child,
}

impl Terminal {
    /// Starts `flugs` with its data in a folder.
    pub fn start(data: &Path, arguments: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        let slave = || File::from(open(&path, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap());
        let child = Command::new(env!("CARGO_BIN_EXE_flugs"))
            .args(arguments)
            .env("XDG_DATA_HOME", data)
            .env("TERM", "xterm-256color")
            .stdin(slave())
            .stdout(slave())
            .stderr(slave())
            .spawn()
            .unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(ROWS, COLUMNS, 0)));
        let keyboard = File::from(master);
        let (from, answers, shown) =
            (keyboard.try_clone().unwrap(), keyboard.try_clone().unwrap(), screen.clone());
        std::thread::spawn(move || display(from, answers, &shown));
        Terminal { keyboard, screen, child }
    }

    /// Types this; `\r` is Enter.
    pub fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// What the screen shows.
    pub fn shown(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until the screen shows this.
    #[track_caller]
    pub fn waits_for(&self, text: &str) {
        self.waits_until(text, |screen| screen.contains(text));
    }

    /// Waits until the last line of the screen is an empty prompt.
    #[track_caller]
    pub fn waits_for_prompt(&self) {
        self.waits_until("a prompt", |screen| {
            screen.lines().rfind(|line| !line.trim().is_empty()).is_some_and(|l| l.trim() == "Flugs SQL>")
        });
    }

    /// Waits until this holds of the screen.
    #[track_caller]
    pub fn waits_until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !holds(&self.shown()) {
            assert!(Instant::now() < until, "there is no {what} in\n{}", self.shown());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends the process a signal.
    pub fn signals(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end of the process.
    #[track_caller]
    pub fn ends(mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "it does not end:\n{}", self.shown());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Puts what comes on the screen, and answers as a terminal does.
fn display(mut from: File, mut answers: File, screen: &Mutex<vt100::Parser>) {
    let (mut buffer, mut held) = ([0; 4096], Vec::new());
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        held.extend_from_slice(&buffer[..count]);
        while let Some(at) = held.windows(WHERE.len()).position(|bytes| bytes == WHERE) {
            let mut screen = screen.lock().unwrap();
            screen.process(&held[..at]);
            let (row, column) = screen.screen().cursor_position();
            let _ = write!(answers, "\x1b[{};{}R", row + 1, column + 1);
            held.drain(..at + WHERE.len());
        }
        // A question may come in two parts.
        let asks = (1..WHERE.len()).rev().find(|n| held.ends_with(&WHERE[..*n])).unwrap_or(0);
        let ready: Vec<u8> = held.drain(..held.len() - asks).collect();
        screen.lock().unwrap().process(&ready);
    }
}
