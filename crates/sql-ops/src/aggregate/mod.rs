//! Aggregates: accumulators, grouped aggregation over changes, in one phase or two.
