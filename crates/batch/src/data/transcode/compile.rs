//! From two schemas to the steps that lead from one to the other.

use super::Step;
use super::incompatible::Misfit;
use crate::data::{Field, FieldDefault, Schema, Variant};
use std::collections::HashMap;

/// The steps from `writer` to `reader`, and the bodies of recursive types.
pub(super) fn plan(writer: &Schema, reader: &Schema) -> Result<(Step, Vec<Step>), Misfit> {
    let mut compiler = Compiler::default();
    let root = compiler.fit(&Scoped::root(writer), &Scoped::root(reader))?;
    let bodies = compiler.bodies.into_iter().map(|body| body.expect("every body is finished")).collect();
    Ok((root, bodies))
}

/// A schema and the structs and enums around it, which its references mean.
#[derive(Clone)]
struct Scoped<'s> {
    schema: &'s Schema,
    around: Vec<&'s Schema>,
}

impl<'s> Scoped<'s> {
    fn root(schema: &'s Schema) -> Self {
        Scoped { schema, around: Vec::new() }
    }

    /// A part of this schema.
    fn part(&self, schema: &'s Schema) -> Self {
        let mut around = self.around.clone();
        if matches!(self.schema, Schema::Struct { .. } | Schema::Enum { .. }) {
            around.push(self.schema);
        }
        Scoped { schema, around }
    }

    /// What a reference means; `None` where it refers further up than there is something.
    fn resolved(mut self) -> Option<Self> {
        if let Schema::Recursive(up) = self.schema {
            let i = self.around.len().checked_sub(1 + *up as usize)?;
            self.schema = self.around[i];
            self.around.truncate(i);
        }
        Some(self)
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self.schema).addr()
    }
}

/// A struct or enum whose steps are being made.
struct Open {
    writer: usize,
    reader: usize,
    in_key: bool,
    /// Its body's number, once a reference has asked for one.
    body: Option<usize>,
}

#[derive(Default)]
struct Compiler {
    path: Vec<String>,
    open: Vec<Open>,
    bodies: Vec<Option<Step>>,
    /// Inside a key of a map or an element of a set, where dropping a field could make two of them equal.
    in_key: bool,
}

impl Compiler {
    fn fit(&mut self, writer: &Scoped<'_>, reader: &Scoped<'_>) -> Result<Step, Misfit> {
        let (Some(writer), Some(reader)) = (writer.clone().resolved(), reader.clone().resolved()) else {
            return Err(self.misfit("a schema refers to a type that is not around it"));
        };
        match (writer.schema, reader.schema) {
            (Schema::Struct { .. }, Schema::Struct { .. }) | (Schema::Enum { .. }, Schema::Enum { .. }) => {
                self.fit_named(&writer, &reader)
            }
            _ => self.fit_plain(&writer, &reader),
        }
    }

    fn fit_plain(&mut self, w: &Scoped<'_>, r: &Scoped<'_>) -> Result<Step, Misfit> {
        use Schema as S;
        Ok(match (w.schema, r.schema) {
            (S::Unit, S::Unit) => Step::Copy(0),
            (S::Bool, S::Bool) => Step::Copy(1),
            (S::Char, S::Char) => Step::Copy(4),
            (S::Timestamp, S::Timestamp) => Step::Copy(8),
            (S::Duration, S::Duration) => Step::Copy(12),
            (S::String, S::String) => Step::CopyList(1),
            (S::Opaque(a), S::Opaque(b)) if a == b => Step::CopyList(1),
            (S::Int(a), S::Int(b)) | (S::UInt(a), S::UInt(b)) | (S::Float(a), S::Float(b)) if a == b => {
                Step::Copy(usize::from(a / 8))
            }
            (S::Int(a), S::Int(b)) if a < b => widen(*a, *b, true),
            (S::UInt(a), S::UInt(b) | S::Int(b)) if a < b => widen(*a, *b, false),
            (S::Float(32), S::Float(64)) => Step::WidenFloat,
            (S::Option(a), S::Option(b)) => Step::Option(Box::new(self.fit(&w.part(a), &r.part(b))?)),
            (_, S::Option(b)) => Step::Wrap(Box::new(self.fit(w, &r.part(b))?)),
            (S::List(a), S::List(b)) => self.fit_list(w.part(a), r.part(b))?,
            (S::Set(a), S::Set(b)) => self.keyed(|this| this.fit_list(w.part(a), r.part(b)))?,
            (S::Array(n, a), S::Array(m, b)) if n == m => {
                repeat(*n as usize, self.at("[]", |this| this.fit(&w.part(a), &r.part(b)))?)
            }
            (S::Map(k, v), S::Map(l, u)) => {
                let key = self.keyed(|this| this.at("[key]", |this| this.fit(&w.part(k), &r.part(l))))?;
                let value = self.at("[]", |this| this.fit(&w.part(v), &r.part(u)))?;
                list(sequence(vec![key, value]), k.min_bytes().saturating_add(v.min_bytes()))
            }
            (S::Tuple(a), S::Tuple(b)) if a.len() == b.len() => {
                let mut steps = Vec::with_capacity(a.len());
                for (i, (a, b)) in a.iter().zip(b).enumerate() {
                    steps.push(self.at(&i.to_string(), |this| this.fit(&w.part(a), &r.part(b)))?);
                }
                sequence(steps)
            }
            (a, b) => {
                return Err(self.misfit(&format!(
                    "the snapshot has {}, the job wants {}",
                    short(a),
                    short(b)
                )));
            }
        })
    }

    fn fit_list(&mut self, writer: Scoped<'_>, reader: Scoped<'_>) -> Result<Step, Misfit> {
        let element = self.at("[]", |this| this.fit(&writer, &reader))?;
        Ok(list(element, writer.schema.min_bytes()))
    }

    /// A struct or enum, which may be referred to from inside.
    fn fit_named(&mut self, writer: &Scoped<'_>, reader: &Scoped<'_>) -> Result<Step, Misfit> {
        let (w, r, in_key) = (writer.address(), reader.address(), self.in_key);
        let known = self.open.iter_mut().find(|o| (o.writer, o.reader, o.in_key) == (w, r, in_key));
        if let Some(open) = known {
            let bodies = &mut self.bodies;
            return Ok(Step::Call(*open.body.get_or_insert_with(|| {
                bodies.push(None);
                bodies.len() - 1
            })));
        }
        self.open.push(Open { writer: w, reader: r, in_key, body: None });
        let step = match (writer.schema, reader.schema) {
            (Schema::Struct { fields: a, .. }, Schema::Struct { fields: b, .. }) => {
                self.fit_fields(writer, a, reader, b)?
            }
            (Schema::Enum { name, variants: a }, Schema::Enum { variants: b, .. }) => {
                Step::Enum { name: name.clone(), variants: self.fit_variants(writer, a, reader, b)? }
            }
            _ => unreachable!("only two structs or two enums come here"),
        };
        let open = self.open.pop().expect("what was opened above is still open");
        Ok(match open.body {
            None => step,
            Some(body) => {
                self.bodies[body] = Some(step);
                Step::Call(body)
            }
        })
    }

    fn fit_variants<'s>(
        &mut self,
        writer: &Scoped<'s>,
        old: &'s [Variant],
        reader: &Scoped<'s>,
        new: &'s [Variant],
    ) -> Result<Vec<(u32, Step)>, Misfit> {
        let mut ordinals = HashMap::new();
        for (ordinal, variant) in new.iter().enumerate() {
            ordinals.entry(variant.name.as_str()).or_insert(ordinal);
        }
        let mut steps = Vec::with_capacity(old.len());
        for variant in old {
            let Some(&ordinal) = ordinals.get(variant.name.as_str()) else {
                return Err(self.misfit(&format!(
                    "the job has no variant {}, which the snapshot may hold",
                    variant.name
                )));
            };
            let fields = &new[ordinal].fields;
            let step =
                self.at(&variant.name, |this| this.fit_fields(writer, &variant.fields, reader, fields))?;
            steps.push((ordinal as u32, step));
        }
        Ok(steps)
    }

    fn fit_fields<'s>(
        &mut self,
        writer: &Scoped<'s>,
        old: &'s [Field],
        reader: &Scoped<'s>,
        new: &'s [Field],
    ) -> Result<Step, Misfit> {
        let mut places: HashMap<&str, usize> =
            new.iter().enumerate().map(|(i, f)| (f.name.as_str(), i)).collect();
        // For each field of the reader, which part makes it.
        let mut made_by = vec![None; new.len()];
        let mut parts = Vec::with_capacity(old.len());
        for (i, field) in old.iter().enumerate() {
            let step = match places.remove(field.name.as_str()) {
                Some(place) => {
                    made_by[place] = Some(i);
                    let target = reader.part(&new[place].schema);
                    self.at(&field.name, |this| this.fit(&writer.part(&field.schema), &target))?
                }
                None => self.at(&field.name, |this| this.skip(&writer.part(&field.schema)))?,
            };
            parts.push(step);
        }
        for (field, part) in new.iter().zip(&mut made_by) {
            if part.is_none() {
                *part = Some(parts.len());
                parts.push(self.at(&field.name, |this| this.default_of(field))?);
            }
        }
        Ok(arrange(parts, old.len(), made_by.into_iter().flatten().collect()))
    }

    /// Reads a field that the reader does not have. Its own type is on both sides, so everything fits.
    fn skip(&mut self, removed: &Scoped<'_>) -> Result<Step, Misfit> {
        if self.in_key {
            return Err(self.misfit(
                "the job has no such field; it cannot be dropped from a key, \
                 as keys that differ in it alone would become one",
            ));
        }
        self.fit(removed, removed).map(|step| Step::Skip(Box::new(step)))
    }

    fn default_of(&self, field: &Field) -> Result<Step, Misfit> {
        match &field.default {
            FieldDefault::Bytes(bytes) => Ok(Step::Write(bytes.clone())),
            FieldDefault::Required => {
                Err(self.misfit("the snapshot has no such field, and it has no #[data(default)]"))
            }
        }
    }

    /// Works one step further down the path.
    fn at<T>(&mut self, name: &str, work: impl FnOnce(&mut Self) -> Result<T, Misfit>) -> Result<T, Misfit> {
        self.path.push(name.to_owned());
        let result = work(self);
        self.path.pop();
        result
    }

    fn keyed<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Misfit>) -> Result<T, Misfit> {
        let outside = std::mem::replace(&mut self.in_key, true);
        let result = work(self);
        self.in_key = outside;
        result
    }

    fn misfit(&self, reason: &str) -> Misfit {
        let mut path = String::new();
        for name in &self.path {
            if !path.is_empty() && !name.starts_with('[') {
                path.push('.');
            }
            path.push_str(name);
        }
        Misfit { path, reason: reason.to_owned() }
    }
}

fn widen(from: u8, to: u8, signed: bool) -> Step {
    Step::Widen { from: usize::from(from / 8), to: usize::from(to / 8), signed }
}

fn list(element: Step, bytes_min: usize) -> Step {
    match element {
        Step::Copy(bytes) if bytes == bytes_min => Step::CopyList(bytes),
        element => Step::List { element: Box::new(element), bytes_min },
    }
}

/// Where the element is not a plain copy it takes bytes, or the reader has just as many of it: a damaged count in
/// the writer's schema cannot keep the transcoder busy for nothing.
fn repeat(n: usize, element: Step) -> Step {
    match element {
        _ if n == 0 => Step::Copy(0),
        Step::Copy(bytes) => Step::Copy(bytes.saturating_mul(n)),
        element => Step::Repeat(n, Box::new(element)),
    }
}

/// Steps in turn, neighbouring copies as one.
fn sequence(steps: Vec<Step>) -> Step {
    let mut fused: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        match (step, fused.last_mut()) {
            (Step::Copy(0), _) => {}
            (Step::Copy(n), Some(Step::Copy(before))) => *before = before.saturating_add(n),
            (step, _) => fused.push(step),
        }
    }
    match fused.len() {
        0 => Step::Copy(0),
        1 => fused.remove(0),
        _ => Step::Sequence(fused),
    }
}

/// The first `read` of `parts` consume the input in this order; `order` says which part stands where in the output.
fn arrange(parts: Vec<Step>, read: usize, order: Vec<usize>) -> Step {
    let kept: Vec<usize> = order.iter().copied().filter(|&part| part < read).collect();
    if !kept.is_sorted() {
        return Step::Permute { parts, order };
    }
    // Nothing changes its place: a part that is not in the output is a skip and may stand before the next one that is.
    let mut next_read = 0;
    let mut places = Vec::with_capacity(parts.len());
    for part in order {
        if part < read {
            places.extend(next_read..=part);
            next_read = part + 1;
        } else {
            places.push(part);
        }
    }
    places.extend(next_read..read);
    let mut parts: Vec<Option<Step>> = parts.into_iter().map(Some).collect();
    sequence(places.into_iter().filter_map(|place| parts[place].take()).collect())
}

/// A schema in a few words.
fn short(schema: &Schema) -> String {
    match schema {
        Schema::Struct { name, .. } => format!("struct {name}"),
        Schema::Enum { name, .. } => format!("enum {name}"),
        other => other.to_string(),
    }
}
