//! Ends this process by becoming another program, so that signals and the exit code are that
//! program's own.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::Failure;

/// Returns only where the program cannot be started.
pub(crate) fn replace_by(mut command: Command) -> Failure {
    let error = command.exec();
    Failure::new(format!("cannot start {}: {error}", command.get_program().to_string_lossy()))
}
