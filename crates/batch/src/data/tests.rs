//! Encoding, schemas and transcoding against twins that work on plain values.

mod evolve;
mod shapes;
mod value;
