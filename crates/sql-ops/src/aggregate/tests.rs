mod functions;
mod group;
mod random;
