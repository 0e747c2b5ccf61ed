//! Making documents: `JSON_STRING`, `JSON_OBJECT`, `JSON_ARRAY`, `JSON`.

use super::MARK;
use super::encode::{check, encode};
use super::value::{Json, set_member};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, data_error, planning_error};
use arrow::array::{Array, ArrayRef};
use datafusion_common::Result;
use flugs_sql_types::LogicalType;

type Body = fn(&Call<'_>) -> Result<ArrayRef>;

pub(super) fn register(registry: &mut FunctionRegistry) {
    let define = |name, usage, text, body: Body| Definition::new(Category::Json, name, usage, text, body);
    let (name, usage) = ("JSON_STRING", "JSON_STRING(value)");
    let string = define(name, usage, "A value of any type as JSON; NULL of NULL.", string);
    registry.define(string.takes(&[Parameter::Any]).returns_by(|types| {
        check(&types.kind(0).to_arrow())?;
        Ok(LogicalType::STRING)
    }));
    let text = "A JSON document, to be put into another one as it is.";
    let json = define("JSON", "JSON(string)", text, json).takes(&[Parameter::String]).nullable();
    registry.define(json.marked(MARK.0, MARK.1));

    let objects: [(_, Body, &[&str]); 2] = [
        ("JSON_OBJECT_NULL_ON_NULL", |call| object(call, false), &["JSON_OBJECT"]),
        ("JSON_OBJECT_ABSENT_ON_NULL", |call| object(call, true), &[]),
    ];
    for (name, body, aliases) in objects {
        let usage = "JSON_OBJECT([[KEY] key VALUE value, ...] [{ NULL | ABSENT } ON NULL])";
        let object = define(name, usage, "A JSON object of keys and values.", body).aliases(aliases);
        registry.define(object.repeats(Parameter::Any).marked(MARK.0, MARK.1).not_null().returns_by(
            |types| {
                if !types.types.len().is_multiple_of(2) {
                    return Err(planning_error("JSON_OBJECT takes keys and values in pairs"));
                }
                for (i, of) in types.types.iter().enumerate() {
                    match i % 2 {
                        0 if !of.kind.is_character() => {
                            return Err(planning_error(format!(
                                "a key of JSON_OBJECT is a string, not {}",
                                of.kind
                            )));
                        }
                        0 => {}
                        _ => check(&of.kind.to_arrow())?,
                    }
                }
                Ok(LogicalType::STRING)
            },
        ));
    }
    let arrays: [(_, Body, &[&str]); 2] = [
        ("JSON_ARRAY_ABSENT_ON_NULL", |call| array(call, true), &["JSON_ARRAY"]),
        ("JSON_ARRAY_NULL_ON_NULL", |call| array(call, false), &[]),
    ];
    for (name, body, aliases) in arrays {
        let usage = "JSON_ARRAY([value, ...] [{ NULL | ABSENT } ON NULL])";
        let array = define(name, usage, "A JSON array of values.", body).aliases(aliases);
        registry.define(array.repeats(Parameter::Any).marked(MARK.0, MARK.1).not_null().returns_by(
            |types| {
                types.types.iter().try_for_each(|t| check(&t.kind.to_arrow()))?;
                Ok(LogicalType::STRING)
            },
        ));
    }
}

fn written(json: &Json) -> String {
    let mut text = String::new();
    json.write(&mut text);
    text
}

fn string(call: &Call<'_>) -> Result<ArrayRef> {
    let values = call.array(0)?;
    let value = |row| {
        if values.is_null(row) { Ok(None) } else { encode(&values, row).map(|json| Some(written(&json))) }
    };
    call.collect_texts(value)
}

fn json(call: &Call<'_>) -> Result<ArrayRef> {
    let texts = call.strings(0);
    call.collect_texts(|row| {
        let Some(text) = texts.get(row).map(str::trim).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let parsed = Json::parse(text)
            .ok_or_else(|| data_error(format!("JSON takes a JSON document, not '{text}'")))?;
        Ok(Some(written(&parsed)))
    })
}

/// The arguments of a call as JSON values.
struct Values {
    columns: Vec<ArrayRef>,
    documents: Vec<bool>,
}

impl Values {
    fn new(call: &Call<'_>) -> Result<Values> {
        let columns = (0..call.len()).map(|i| call.array(i)).collect::<Result<Vec<_>>>()?;
        let document = |i| call.field_of(i).metadata().get(MARK.0).is_some_and(|value| value == MARK.1);
        Ok(Values { columns, documents: (0..call.len()).map(document).collect() })
    }

    fn get(&self, argument: usize, row: usize) -> Result<Json> {
        match (encode(&self.columns[argument], row)?, self.documents[argument]) {
            (Json::String(text), true) => {
                Json::parse(&text).ok_or_else(|| data_error(format!("'{text}' is no JSON document")))
            }
            (json, _) => Ok(json),
        }
    }
}

fn object(call: &Call<'_>, absent_on_null: bool) -> Result<ArrayRef> {
    let values = Values::new(call)?;
    call.collect_texts(|row| {
        let mut members = Vec::with_capacity(call.len() / 2);
        for i in (0..call.len()).step_by(2) {
            let Json::String(name) = values.get(i, row)? else {
                return Err(data_error("a key of JSON_OBJECT is NULL"));
            };
            let value = values.get(i + 1, row)?;
            if value != Json::Null || !absent_on_null {
                set_member(&mut members, name, value);
            }
        }
        Ok(Some(written(&Json::Object(members))))
    })
}

fn array(call: &Call<'_>, absent_on_null: bool) -> Result<ArrayRef> {
    let values = Values::new(call)?;
    call.collect_texts(|row| {
        let elements = (0..call.len()).map(|i| values.get(i, row)).collect::<Result<Vec<_>>>()?;
        let kept = elements.into_iter().filter(|json| *json != Json::Null || !absent_on_null);
        Ok(Some(written(&Json::Array(kept.collect()))))
    })
}
