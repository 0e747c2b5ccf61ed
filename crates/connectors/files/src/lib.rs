//! Sources and exactly-once sinks over files and folders.
