//! Choices between values, and questions about them. `CASE` is the planner's; `IF`, `IFNULL` and `COALESCE` become one, so that
//! values that are not chosen are not computed.

mod choice;
mod question;

#[cfg(test)]
mod tests;

use crate::registry::FunctionRegistry;

pub(crate) fn register(registry: &mut FunctionRegistry) {
    for definition in choice::definitions().into_iter().chain(question::definitions()) {
        registry.define(definition);
    }
}
