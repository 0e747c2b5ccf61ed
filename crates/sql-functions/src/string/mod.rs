//! Functions of strings.
//!
//! Positions and lengths count characters (code points). Flink counts some of them in UTF-16 units, which differs for characters
//! beyond the basic plane only.

mod case;
mod charset;
mod compose;
pub(crate) mod java_pattern;
mod json_text;
pub(crate) mod pattern;
mod position;
mod printf;
mod regexp;
mod slice;
mod str_to_map;
mod url;

use crate::registry::FunctionRegistry;
use crate::support::Types;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;

pub(crate) fn register(registry: &mut FunctionRegistry) {
    let all = [
        case::definitions(),
        charset::definitions(),
        compose::definitions(),
        json_text::definitions(),
        position::definitions(),
        printf::definitions(),
        regexp::definitions(),
        slice::definitions(),
        str_to_map::definitions(),
        url::definitions(),
    ];
    for definition in all.into_iter().flatten() {
        registry.define(definition);
    }
}

/// The type of a part of the first argument.
fn part_of_first(types: &Types<'_>) -> Result<LogicalType> {
    Ok(match types.kind(0) {
        LogicalType::Char(n) | LogicalType::VarChar(n) => LogicalType::VarChar(*n),
        _ => LogicalType::STRING,
    })
}

#[cfg(test)]
mod tests;
