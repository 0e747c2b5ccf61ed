//! The `#[data(...)]` attributes.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, LitStr, Path, Result, parse_quote};

/// The path of the module `data` that the generated code names: `::flugs::data` unless `crate = "..."` says otherwise.
pub(crate) fn module_of(attributes: &[Attribute]) -> Result<Path> {
    let mut module = None;
    each(attributes, |meta| {
        if !meta.path.is_ident("crate") {
            return Err(unknown(&meta, "a type takes `crate = \"...\"`"));
        }
        let text: LitStr = meta.value()?.parse()?;
        let path: Path = text.parse()?;
        let local = path
            .segments
            .first()
            .is_some_and(|s| s.ident == "crate" || s.ident == "self" || s.ident == "super");
        let path = if local || path.leading_colon.is_some() {
            parse_quote!(#path::data)
        } else {
            parse_quote!(::#path::data)
        };
        once(&meta, &mut module, path)
    })?;
    Ok(module.unwrap_or_else(|| parse_quote!(::flugs::data)))
}

/// Whether a field has `default`.
pub(crate) fn has_default(attributes: &[Attribute]) -> Result<bool> {
    let mut default = None;
    each(attributes, |meta| {
        if !meta.path.is_ident("default") {
            return Err(unknown(&meta, "a field takes `default`"));
        }
        once(&meta, &mut default, ())
    })?;
    Ok(default.is_some())
}

/// Refuses attributes where none has a meaning.
pub(crate) fn none_on_variant(attributes: &[Attribute]) -> Result<()> {
    each(attributes, |meta| Err(unknown(&meta, "a variant takes none; its fields take `default`")))
}

fn each(attributes: &[Attribute], mut one: impl FnMut(ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    attributes.iter().filter(|a| a.path().is_ident("data")).try_for_each(|a| a.parse_nested_meta(&mut one))
}

fn once<T>(meta: &ParseNestedMeta<'_>, slot: &mut Option<T>, value: T) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(meta.error("this attribute is given twice")),
    }
}

fn unknown(meta: &ParseNestedMeta<'_>, allowed: &str) -> Error {
    meta.error(format!("unknown attribute of Data: {allowed}"))
}
