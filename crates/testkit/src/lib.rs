//! Operator harness, virtual time and the fault simulator.
