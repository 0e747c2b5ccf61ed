//! The `#[data(...)]` and `#[sql(...)]` attributes.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, LitStr, Path, Result, parse_quote};

/// The attributes of one derive macro.
#[derive(Clone, Copy)]
pub(crate) struct Attributes {
    /// The macro's name.
    pub(crate) of: &'static str,
    /// What stands behind `#`.
    pub(crate) name: &'static str,
}

/// Those of `Data`.
pub(crate) const DATA: Attributes = Attributes { of: "Data", name: "data" };
/// Those of `SqlRow`.
pub(crate) const SQL: Attributes = Attributes { of: "SqlRow", name: "sql" };

impl Attributes {
    /// The path of the module that the generated code names, in the crate that `crate = "..."` says; the `default` otherwise.
    pub(crate) fn module(self, attributes: &[Attribute], module: &str, default: Path) -> Result<Path> {
        let mut found = None;
        self.each(attributes, |meta| {
            if !meta.path.is_ident("crate") {
                return Err(self.unknown(&meta, "a type takes `crate = \"...\"`"));
            }
            let text: LitStr = meta.value()?.parse()?;
            let path: Path = text.parse()?;
            let module = quote::format_ident!("{module}");
            let local = path
                .segments
                .first()
                .is_some_and(|s| s.ident == "crate" || s.ident == "self" || s.ident == "super");
            let path = if local || path.leading_colon.is_some() {
                parse_quote!(#path::#module)
            } else {
                parse_quote!(::#path::#module)
            };
            once(&meta, &mut found, path)
        })?;
        Ok(found.unwrap_or(default))
    }

    /// Whether a field has `default`.
    pub(crate) fn has_default(self, attributes: &[Attribute]) -> Result<bool> {
        let mut default = None;
        self.each(attributes, |meta| {
            if !meta.path.is_ident("default") {
                return Err(self.unknown(&meta, "a field takes `default`"));
            }
            once(&meta, &mut default, ())
        })?;
        Ok(default.is_some())
    }

    /// What a field says in `name = "..."`.
    pub(crate) fn field_name(self, attributes: &[Attribute]) -> Result<Option<String>> {
        let mut name = None;
        self.each(attributes, |meta| {
            if !meta.path.is_ident("name") {
                return Err(self.unknown(&meta, "a field takes `name = \"...\"`"));
            }
            let text: LitStr = meta.value()?.parse()?;
            once(&meta, &mut name, text.value())
        })?;
        Ok(name)
    }

    /// Refuses attributes where none has a meaning.
    pub(crate) fn none_on_variant(self, attributes: &[Attribute]) -> Result<()> {
        self.each(attributes, |meta| {
            Err(self.unknown(&meta, "a variant takes none; its fields take `default`"))
        })
    }

    fn each(
        self,
        attributes: &[Attribute],
        mut one: impl FnMut(ParseNestedMeta<'_>) -> Result<()>,
    ) -> Result<()> {
        attributes
            .iter()
            .filter(|a| a.path().is_ident(self.name))
            .try_for_each(|a| a.parse_nested_meta(&mut one))
    }

    fn unknown(self, meta: &ParseNestedMeta<'_>, allowed: &str) -> Error {
        meta.error(format!("unknown attribute of {}: {allowed}", self.of))
    }
}

fn once<T>(meta: &ParseNestedMeta<'_>, slot: &mut Option<T>, value: T) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(meta.error("this attribute is given twice")),
    }
}
