//! Looking into documents: `JSON_EXISTS`, `JSON_VALUE`, `JSON_QUERY`, `IS JSON`.

use super::path::{Found, Mode, Path};
use super::value::Json;
use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, Types, data_error, planning_error, to_datafusion};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int32Array, Int64Array, ListBuilder,
    StringViewBuilder,
};
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type};
use datafusion_common::{Result, ScalarValue};
use flugs_sql_types::LogicalType;
use std::sync::Arc;

type Body = fn(&Call<'_>) -> Result<ArrayRef>;

pub(super) fn register(registry: &mut FunctionRegistry) {
    let define = |name, usage, text, body: Body| Definition::new(Category::Json, name, usage, text, body);
    let string = Parameter::String;
    let kinds: [(_, _, _, Body); 4] = [
        ("IS_JSON_VALUE", "string IS JSON [VALUE]", "Whether a string is JSON.", |call| {
            is_json(call, |_| true)
        }),
        (
            "IS_JSON_SCALAR",
            "string IS JSON SCALAR",
            "Whether a string is JSON, but no array and no object.",
            |call| is_json(call, Json::is_scalar),
        ),
        ("IS_JSON_ARRAY", "string IS JSON ARRAY", "Whether a string is a JSON array.", |call| {
            is_json(call, |json| matches!(json, Json::Array(_)))
        }),
        ("IS_JSON_OBJECT", "string IS JSON OBJECT", "Whether a string is a JSON object.", |call| {
            is_json(call, |json| matches!(json, Json::Object(_)))
        }),
    ];
    for (name, usage, text, body) in kinds {
        registry.define(
            define(name, usage, text, body).takes(&[string]).returns(LogicalType::Boolean).not_null(),
        );
    }
    let text = "Whether a path leads to something in a document.";
    let usage = "JSON_EXISTS(json, path [{ TRUE | FALSE | UNKNOWN | ERROR } ON ERROR])";
    let exists = define("JSON_EXISTS", usage, text, exists).takes(&[string, string]).optionally(&[string]);
    registry.define(exists.nullable().returns_by(|types| {
        check_path(types)?;
        Ok(LogicalType::Boolean)
    }));
    let text = "The scalar that a path leads to in a document.";
    let usage =
        "JSON_VALUE(json, path [RETURNING type] [{ NULL | ERROR | DEFAULT x } ON EMPTY] [... ON ERROR])";
    let any = Parameter::Any;
    let value = define("JSON_VALUE", usage, text, value).takes(&[string, string]);
    let value = value.optionally(&[string, string, any, string, any]);
    registry.define(value.nullable().returns_by(|types| {
        check_path(types)?;
        Ok(returning(types, &["STRING", "BOOLEAN", "INT", "BIGINT", "DOUBLE"])?
            .unwrap_or(LogicalType::STRING))
    }));
    let text = "The array or object that a path leads to in a document.";
    let usage = "JSON_QUERY(json, path [RETURNING type] [wrapper] [{ NULL | EMPTY ARRAY | EMPTY OBJECT | ERROR } ON EMPTY] [... ON ERROR])";
    let query = define("JSON_QUERY", usage, text, query).takes(&[string, string]);
    let query = query.optionally(&[string, string, string, string]);
    registry.define(query.nullable().returns_by(|types| {
        check_path(types)?;
        let kind = returning(types, &["STRING", "ARRAY<STRING>"])?.unwrap_or(LogicalType::STRING);
        let empty_object = [4, 5].iter().any(|i| constant_text(types, *i) == Some("EMPTY OBJECT"));
        if matches!(kind, LogicalType::Array(_)) && empty_object {
            return Err(planning_error("JSON_QUERY cannot give EMPTY OBJECT as an ARRAY<STRING>"));
        }
        Ok(kind)
    }));
}

fn constant_text<'a>(types: &'a Types<'_>, i: usize) -> Option<&'a str> {
    match types.constant(i) {
        Some(ScalarValue::Utf8View(Some(text)) | ScalarValue::Utf8(Some(text))) => Some(text),
        _ => None,
    }
}

/// A constant path is looked at when the query is planned.
fn check_path(types: &Types<'_>) -> Result<()> {
    constant_text(types, 1).map_or(Ok(()), |path| Path::compile(path).map(|_| ()).map_err(to_datafusion))
}

/// The type behind `RETURNING`, one of `known`; none where the call does not say it.
fn returning(types: &Types<'_>, known: &[&str]) -> Result<Option<LogicalType>> {
    let Some(text) = constant_text(types, 2) else { return Ok(None) };
    let name = text.trim_end_matches(" NOT NULL").to_ascii_uppercase();
    let name = match name.as_str() {
        "INTEGER" => "INT",
        text if text.starts_with("VARCHAR") || text.starts_with("CHAR") => "STRING",
        name => name,
    };
    if !known.contains(&name) {
        let message =
            format!("{} cannot return {text}, only {}; CAST its result", types.name, known.join(", "));
        return Err(planning_error(message));
    }
    Ok(Some(match name {
        "BOOLEAN" => LogicalType::Boolean,
        "INT" => LogicalType::Int,
        "BIGINT" => LogicalType::BigInt,
        "DOUBLE" => LogicalType::Double,
        "ARRAY<STRING>" => LogicalType::Array(Box::new(LogicalType::STRING.nullable())),
        _ => LogicalType::STRING,
    }))
}

fn is_json(call: &Call<'_>, fits: fn(&Json) -> bool) -> Result<ArrayRef> {
    let texts = call.strings(0);
    let holds = |row| texts.get(row).and_then(Json::parse).is_some_and(|json| fits(&json));
    Ok(Arc::new((0..call.rows).map(|row| Some(holds(row))).collect::<BooleanArray>()))
}

/// Documents and paths of a call; equal ones of neighbouring rows are looked at once.
struct Finder<'a> {
    call: &'a Call<'a>,
    path: Option<(String, Path)>,
}

impl<'a> Finder<'a> {
    fn new(call: &'a Call<'a>) -> Self {
        Finder { call, path: None }
    }

    /// What the path of a row leads to; none where the document or the path is NULL.
    fn find(&mut self, row: usize) -> Result<Option<(Mode, Found)>> {
        let (Some(text), Some(path)) = (self.call.strings(0).get(row), self.call.strings(1).get(row)) else {
            return Ok(None);
        };
        if self.path.as_ref().is_none_or(|(known, _)| known != path) {
            self.path = Some((path.to_owned(), Path::compile(path).map_err(to_datafusion)?));
        }
        let (_, path) = self.path.as_ref().expect("it was just set");
        Ok(Some((path.mode, path.find(Json::parse(text).as_ref()))))
    }

    /// A word behind the path.
    fn word(&self, i: usize, row: usize, otherwise: &'static str) -> &str {
        if self.call.len() > i { self.call.strings(i).get(row).unwrap_or(otherwise) } else { otherwise }
    }
}

fn exists(call: &Call<'_>) -> Result<ArrayRef> {
    let mut finder = Finder::new(call);
    call.collect_booleans(|row| {
        Ok(match finder.find(row)? {
            None => None,
            Some((_, Found::Nothing)) => Some(false),
            Some((_, Found::Value(_))) => Some(true),
            Some((_, Found::Error(why))) => match finder.word(2, row, "FALSE") {
                "TRUE" => Some(true),
                "UNKNOWN" => None,
                "ERROR" => return Err(failed("JSON_EXISTS", &why)),
                _ => Some(false),
            },
        })
    })
}

fn failed(name: &str, why: &str) -> datafusion_common::DataFusionError {
    data_error(format!("{name}: {why}"))
}

/// What stands in a row of a result of `JSON_VALUE`.
enum Cell {
    Null,
    Value(Json),
    /// The default of this argument.
    Default(usize),
}

fn value(call: &Call<'_>) -> Result<ArrayRef> {
    let mut finder = Finder::new(call);
    let mut cells = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let why_not = match finder.find(row)? {
            None => {
                cells.push(Cell::Null);
                continue;
            }
            Some((_, Found::Value(json))) if json.is_scalar() => {
                if fits(&json, call.data_type()) {
                    cells.push(Cell::Value(json));
                    continue;
                }
                let mut text = String::new();
                json.plain(&mut text);
                Err(format!("'{text}' is no {}", crate::support::type_name(call.data_type())))
            }
            Some((Mode::Strict, Found::Value(_))) => Err("the path leads to no scalar".to_owned()),
            Some((Mode::Lax, Found::Value(_)) | (_, Found::Nothing)) => Ok(()),
            Some((_, Found::Error(why))) => Err(why),
        };
        let (word, why) = match &why_not {
            Ok(()) => (3, "the path leads to nothing"),
            Err(why) => (5, why.as_str()),
        };
        cells.push(match finder.word(word, row, "NULL") {
            "ERROR" => return Err(failed("JSON_VALUE", why)),
            "DEFAULT" => Cell::Default(word + 1),
            _ => Cell::Null,
        });
    }
    let default = |i: usize| -> Result<Option<ArrayRef>> {
        if call.len() <= i || !cells.iter().any(|c| matches!(c, Cell::Default(d) if *d == i)) {
            return Ok(None);
        }
        let given = call.array(i)?;
        Ok(Some(if given.data_type() == call.data_type() {
            given
        } else {
            arrow::compute::cast(&given, call.data_type())?
        }))
    };
    let defaults = [(4, default(4)?), (6, default(6)?)];
    let of = |argument: usize| defaults.iter().find(|(i, _)| *i == argument).and_then(|(_, d)| d.as_ref());
    column(call.data_type(), &cells, of)
}

/// Whether a scalar can be a value of this type.
fn fits(json: &Json, data_type: &DataType) -> bool {
    match data_type {
        DataType::Boolean => boolean(json).is_some(),
        DataType::Int32 => integer(json).and_then(|v| i32::try_from(v).ok()).is_some(),
        DataType::Int64 => integer(json).is_some(),
        DataType::Float64 => double(json).is_some(),
        _ => true,
    }
}

fn boolean(json: &Json) -> Option<bool> {
    match json {
        Json::Bool(value) => Some(*value),
        Json::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Json::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn integer(json: &Json) -> Option<i64> {
    match json {
        Json::Number(text) | Json::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn double(json: &Json) -> Option<f64> {
    match json {
        Json::Number(text) | Json::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn column<'a>(
    data_type: &DataType,
    cells: &[Cell],
    default: impl Fn(usize) -> Option<&'a ArrayRef>,
) -> Result<ArrayRef> {
    // The value of a row, from the document or from the default.
    macro_rules! collect {
        ($as:ident::<$t:ty>, $of:expr) => {
            cells.iter().enumerate().map(|(row, cell)| match cell {
                Cell::Null => None,
                Cell::Value(json) => $of(json),
                Cell::Default(i) => {
                    default(*i).map(|d| d.$as::<$t>()).filter(|d| d.is_valid(row)).map(|d| d.value(row))
                }
            })
        };
    }
    let narrow = |json: &Json| integer(json).and_then(|v| i32::try_from(v).ok());
    Ok(match data_type {
        DataType::Boolean => {
            let values = cells.iter().enumerate().map(|(row, cell)| match cell {
                Cell::Null => None,
                Cell::Value(json) => boolean(json),
                Cell::Default(i) => {
                    default(*i).map(|d| d.as_boolean()).filter(|d| d.is_valid(row)).map(|d| d.value(row))
                }
            });
            Arc::new(values.collect::<BooleanArray>())
        }
        DataType::Int32 => Arc::new(collect!(as_primitive::<Int32Type>, narrow).collect::<Int32Array>()),
        DataType::Int64 => Arc::new(collect!(as_primitive::<Int64Type>, integer).collect::<Int64Array>()),
        DataType::Float64 => {
            Arc::new(collect!(as_primitive::<Float64Type>, double).collect::<Float64Array>())
        }
        _ => {
            let mut builder = StringViewBuilder::with_capacity(cells.len());
            let mut text = String::new();
            for (row, cell) in cells.iter().enumerate() {
                match cell {
                    Cell::Null => builder.append_null(),
                    Cell::Value(json) => {
                        text.clear();
                        json.plain(&mut text);
                        builder.append_value(&text);
                    }
                    Cell::Default(i) => {
                        let default = default(*i).map(|d| d.as_string_view()).filter(|d| d.is_valid(row));
                        builder.append_option(default.map(|d| d.value(row)));
                    }
                }
            }
            Arc::new(builder.finish())
        }
    })
}

/// What `JSON_QUERY` gives for a row.
fn queried(finder: &mut Finder<'_>, row: usize, array: bool) -> Result<Option<Json>> {
    let why_not = match finder.find(row)? {
        None => return Ok(None),
        Some((mode, Found::Value(json))) => {
            let json = match (finder.word(3, row, "WITHOUT"), &json) {
                ("UNCONDITIONAL", _) => Json::Array(vec![json]),
                ("CONDITIONAL", Json::Array(_)) => json,
                ("CONDITIONAL", _) => Json::Array(vec![json]),
                _ => json,
            };
            match (json, mode) {
                (json, Mode::Lax) if json.is_scalar() => Ok(()),
                (json, Mode::Strict) if json.is_scalar() => {
                    Err("the path leads to no array and no object".to_owned())
                }
                (Json::Object(_), _) if array => {
                    Err("the path leads to an object, but an array is to be returned".to_owned())
                }
                (json, _) => return Ok(Some(json)),
            }
        }
        Some((_, Found::Nothing)) => Ok(()),
        Some((_, Found::Error(why))) => Err(why),
    };
    let (word, why) = match &why_not {
        Ok(()) => (4, "the path leads to nothing"),
        Err(why) => (5, why.as_str()),
    };
    Ok(match finder.word(word, row, "NULL") {
        "ERROR" => return Err(failed("JSON_QUERY", why)),
        "EMPTY ARRAY" => Some(Json::Array(Vec::new())),
        "EMPTY OBJECT" => Some(Json::Object(Vec::new())),
        _ => None,
    })
}

fn query(call: &Call<'_>) -> Result<ArrayRef> {
    let mut finder = Finder::new(call);
    let DataType::List(item) = call.data_type() else {
        return call.collect_texts(|row| {
            Ok(queried(&mut finder, row, false)?.map(|json| {
                let mut text = String::new();
                json.write(&mut text);
                text
            }))
        });
    };
    let mut builder = ListBuilder::new(StringViewBuilder::new()).with_field(item.clone());
    let mut text = String::new();
    for row in 0..call.rows {
        let Some(Json::Array(elements)) = queried(&mut finder, row, true)? else {
            builder.append_null();
            continue;
        };
        for element in elements {
            if element == Json::Null {
                builder.values().append_null();
                continue;
            }
            text.clear();
            element.plain(&mut text);
            builder.values().append_value(&text);
        }
        builder.append(true);
    }
    Ok(Arc::new(builder.finish()))
}
