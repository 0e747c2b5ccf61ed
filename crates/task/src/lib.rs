//! One subtask: gate, alignment, chain, exchange, mailbox and schedulers.
