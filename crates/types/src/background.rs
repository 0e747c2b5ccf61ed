//! The seam to threads that may block.

/// Runs work that blocks (file and network I/O, restoring large state) away from the workers.
///
/// A task never blocks: it hands such work over here and is told of its end by mail. The real
/// implementation is a small pool of threads; the simulator runs the work at a virtual time of its
/// choosing, so code must not rely on the order in which two pieces of work end.
pub trait Background: Send + Sync + 'static {
    /// Hands over one piece of work. It runs once, some time later, on some thread.
    fn run(&self, work: Box<dyn FnOnce() + Send + 'static>);
}
