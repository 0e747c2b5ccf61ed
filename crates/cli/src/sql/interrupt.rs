//! Ctrl-C: it stops what runs, not the command.

use flugs_types::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether Ctrl-C was pressed since it was last asked.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on Ctrl-C does not end the process.
    pub fn new() -> Result<Self> {
        let pressed = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGINT, pressed.clone())
            .map_err(|e| Error::environment("Ctrl-C cannot be listened for").caused_by(e))?;
        Ok(Interrupt(pressed))
    }

    /// Whether it was pressed; forgets it.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}
