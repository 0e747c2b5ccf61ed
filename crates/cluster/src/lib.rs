//! The coordinator of a job: deployment, checkpoints, failover.
