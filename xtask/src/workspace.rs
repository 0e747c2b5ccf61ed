//! Where the repository and its build are, and how cargo is called in it.

use std::env;
use std::ffi::OsString;
use std::path::{self, PathBuf};
use std::process::Command;

/// The folder of the workspace's `Cargo.toml`. Asked of the cargo that runs this program: the path
/// compiled in would be another checkout's where two share a build folder.
pub(crate) fn root() -> PathBuf {
    let own =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    own.parent().expect("xtask lies in the workspace's folder").to_owned()
}

/// Where cargo builds to.
pub(crate) fn target_dir() -> PathBuf {
    chosen_target_dir().unwrap_or_else(|| root().join("target"))
}

/// The user's choice; a relative one is meant from where the user stands, as cargo itself takes it.
fn chosen_target_dir() -> Option<PathBuf> {
    let chosen = PathBuf::from(env::var_os("CARGO_TARGET_DIR")?);
    Some(path::absolute(&chosen).unwrap_or(chosen))
}

/// The cargo that runs this program, to be run in the workspace from wherever the user stands.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    cargo.current_dir(root());
    if let Some(target) = chosen_target_dir() {
        cargo.env("CARGO_TARGET_DIR", target);
    }
    cargo
}
