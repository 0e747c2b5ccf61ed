mod functions;
mod group;
mod random;
mod throughput;
