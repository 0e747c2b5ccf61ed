//! Reading bytes under another schema than the one that wrote them.
//!
//! A [`Transcoder`] is made once from both schemas, which is where misfits are found, and then rewrites each value by
//! a small tree of [`Step`]s. What fits: added fields that have a default, removed fields, fields in another order,
//! wider numbers, `T` to `Option<T>`, new variants, and other names of structs and enums. The invariant: the result
//! decodes to the value that was written, and nothing that was written is dropped but removed fields.

mod compile;
mod incompatible;

pub use incompatible::Incompatible;

use super::{DecodeError, Reader, Schema};

/// Rewrites values of one schema as values of another.
#[derive(Debug, Clone)]
pub struct Transcoder {
    root: Step,
    /// The bodies of recursive types, by the number that [`Step::Call`] names.
    bodies: Vec<Step>,
}

/// How a value is rewritten.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// That many bytes as they are.
    Copy(usize),
    /// A `u32` length, then that many times this number of bytes, as they are.
    CopyList(usize),
    /// A number from the first to the second width in bytes.
    Widen { from: usize, to: usize, signed: bool },
    /// An `f32` as an `f64`.
    WidenFloat,
    /// The value becomes `Some`.
    Wrap(Box<Step>),
    /// A tag and a value if it is 1.
    Option(Box<Step>),
    /// A `u32` length and elements of at least `bytes_min` bytes.
    List { element: Box<Step>, bytes_min: usize },
    /// A fixed number of elements.
    Repeat(usize, Box<Step>),
    /// One after the other.
    Sequence(Vec<Step>),
    /// The parts of the input in turn, then their results in another order.
    Permute { parts: Vec<Step>, order: Vec<usize> },
    /// By ordinal: the new ordinal and the variant's fields.
    Enum { name: String, variants: Vec<(u32, Step)> },
    /// These bytes, from nowhere.
    Write(Vec<u8>),
    /// Reads and drops a value.
    Skip(Box<Step>),
    /// The body of a recursive type.
    Call(usize),
}

impl Transcoder {
    /// Plans how values of `writer` are read as values of `reader`.
    ///
    /// # Errors
    /// Where a value of `writer` has no sure place in `reader`: the error names the field and prints both schemas.
    pub fn new(writer: &Schema, reader: &Schema) -> Result<Transcoder, Incompatible> {
        let (root, bodies) =
            compile::plan(writer, reader).map_err(|misfit| Incompatible::new(misfit, writer, reader))?;
        Ok(Transcoder { root, bodies })
    }

    /// Whether values keep their bytes, so that nothing need be rewritten.
    pub fn is_identity(&self) -> bool {
        self.root.keeps() && self.bodies.iter().all(Step::keeps)
    }

    /// Reads one value of the writer's schema and appends it as the reader's. On an error `out` is as before.
    ///
    /// # Errors
    /// Where the input is no value of the writer's schema. Text, characters and booleans are not looked
    /// at: decoding the result does that.
    pub fn apply(&self, input: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        let start = out.len();
        let result = self.run(&self.root, input, out);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn run(&self, step: &Step, input: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        match step {
            Step::Copy(n) => out.extend_from_slice(input.take(*n)?),
            Step::CopyList(bytes) => {
                let n = input.length(*bytes)?;
                out.extend_from_slice(&(n as u32).to_le_bytes());
                out.extend_from_slice(input.take(n.saturating_mul(*bytes))?);
            }
            Step::Widen { from, to, signed } => {
                let number = input.take(*from)?;
                let negative = *signed && number.last().is_some_and(|byte| byte >> 7 == 1);
                out.extend_from_slice(number);
                out.resize(out.len() + to - from, if negative { 0xff } else { 0 });
            }
            Step::WidenFloat => {
                out.extend_from_slice(&f64::from(f32::from_le_bytes(input.array()?)).to_le_bytes());
            }
            Step::Wrap(value) => {
                out.push(1);
                self.run(value, input, out)?;
            }
            Step::Option(value) => {
                let some = input.tag("an option")?;
                out.push(u8::from(some));
                if some {
                    self.run(value, input, out)?;
                }
            }
            Step::List { element, bytes_min } => {
                let n = input.length(*bytes_min)?;
                out.extend_from_slice(&(n as u32).to_le_bytes());
                self.repeat(n, element, input, out)?;
            }
            Step::Repeat(n, element) => self.repeat(*n, element, input, out)?,
            Step::Sequence(steps) => {
                for step in steps {
                    self.run(step, input, out)?;
                }
            }
            Step::Permute { parts, order } => self.permute(parts, order, input, out)?,
            Step::Enum { name, variants } => {
                let ordinal = u32::from_le_bytes(input.array()?);
                let Some((new, fields)) = variants.get(ordinal as usize) else {
                    return Err(DecodeError::no_variant(name, ordinal));
                };
                out.extend_from_slice(&new.to_le_bytes());
                self.run(fields, input, out)?;
            }
            Step::Write(bytes) => out.extend_from_slice(bytes),
            Step::Skip(value) => {
                let start = out.len();
                self.run(value, input, out)?;
                out.truncate(start);
            }
            Step::Call(body) => input.nested(|input| self.run(&self.bodies[*body], input, out))?,
        }
        Ok(())
    }

    fn repeat(
        &self,
        n: usize,
        element: &Step,
        input: &mut Reader<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        (0..n).try_for_each(|_| self.run(element, input, out))
    }

    fn permute(
        &self,
        parts: &[Step],
        order: &[usize],
        input: &mut Reader<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        let start = out.len();
        let mut ends = Vec::with_capacity(parts.len() + 1);
        ends.push(0);
        for part in parts {
            self.run(part, input, out)?;
            ends.push(out.len() - start);
        }
        let bytes = out.split_off(start);
        for &i in order {
            out.extend_from_slice(&bytes[ends[i]..ends[i + 1]]);
        }
        Ok(())
    }
}

impl Step {
    /// Whether the bytes stay as they are, bodies of recursive types apart.
    fn keeps(&self) -> bool {
        match self {
            Step::Copy(_) | Step::CopyList(_) | Step::Call(_) => true,
            Step::Option(inner) | Step::Repeat(_, inner) | Step::List { element: inner, .. } => inner.keeps(),
            Step::Sequence(steps) => steps.iter().all(Step::keeps),
            Step::Enum { variants, .. } => {
                variants.iter().enumerate().all(|(old, (new, fields))| old as u32 == *new && fields.keeps())
            }
            Step::Widen { .. } | Step::WidenFloat | Step::Wrap(_) | Step::Permute { .. } => false,
            Step::Write(bytes) => bytes.is_empty(),
            Step::Skip(inner) => **inner == Step::Copy(0),
        }
    }
}
