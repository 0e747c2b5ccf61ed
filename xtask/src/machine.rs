//! What the machine must have before anything is built: parts of the Rust toolchain and a C compiler.
//!
//! Installs only what belongs to the toolchain; for the rest it says in plain words what to type.

use std::env;
use std::fs;
use std::process::{Command, Stdio};

use crate::{Failure, workspace};

/// Checks for `cargo SUBCOMMAND`, which the toolchain's `component` brings, and installs it with
/// rustup where it is missing.
pub(crate) fn require_component(subcommand: &str, component: &str) -> Result<(), Failure> {
    let there = || succeeds_silently(workspace::cargo().args([subcommand, "--version"]));
    if there() {
        return Ok(());
    }
    println!("{component} is missing: trying `rustup component add {component}`");
    let added = Command::new("rustup").args(["component", "add", component]).status();
    if added.is_ok_and(|status| status.success()) && there() {
        return Ok(());
    }
    let mend = format!(
        "{component} is missing and could not be installed. Where Rust came with rustup, type \
         `rustup component add {component}` and see what it says; where it came with the system's \
         packages, install the package of {component} too."
    );
    Err(Failure::new(mend))
}

/// Checks for a C compiler with the headers of the C library. Rust links with it, and the memory
/// allocator of the programs is written in C.
pub(crate) fn require_c_compiler() -> Result<(), Failure> {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut words = compiler.split_whitespace();
    let mut probe = Command::new(words.next().unwrap_or("cc"));
    probe.args(words).args(["-E", "-x", "c", "-include", "stdlib.h", "/dev/null"]);
    if succeeds_silently(&mut probe) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "there is no working C compiler (`{compiler}`), which is needed to build. {}",
        c_compiler_mend()
    )))
}

fn c_compiler_mend() -> &'static str {
    if cfg!(target_os = "macos") {
        return "Type `xcode-select --install`.";
    }
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    if release.lines().any(|line| line.starts_with("ID") && line.contains("debian")) {
        "Type `sudo apt-get install build-essential`."
    } else {
        "Install a C compiler and the C library's headers with the system's package manager."
    }
}

fn succeeds_silently(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
