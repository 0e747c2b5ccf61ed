//! Functions of numbers.

mod digits;
mod logarithm;
mod random;
mod round;
mod simple;

#[cfg(test)]
mod tests;

use crate::registry::FunctionRegistry;

pub(crate) fn register(registry: &mut FunctionRegistry) {
    let all = [
        simple::definitions(),
        logarithm::definitions(),
        round::definitions(),
        digits::definitions(),
        random::definitions(),
    ];
    for definition in all.into_iter().flatten() {
        registry.define(definition);
    }
}
