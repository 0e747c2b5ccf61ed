//! The changes that single cases give, in order.
