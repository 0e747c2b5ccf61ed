//! The generated `impl SqlRow`.

use crate::attributes::SQL;
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, GenericParam, Generics, Ident, Member, Path, Result, Type};

/// A field and its column.
struct Column<'a> {
    member: Member,
    ty: &'a Type,
    name: String,
    /// The local variables of its values and of one value.
    values: Ident,
    value: Ident,
}

impl<'a> Column<'a> {
    fn all(fields: &'a Fields) -> Result<Vec<Column<'a>>> {
        let column = |(at, (field, member)): (usize, (&'a syn::Field, Member))| {
            let given = SQL.field_name(&field.attrs)?;
            let name = match &member {
                Member::Named(name) => name.unraw().to_string(),
                Member::Unnamed(index) => format!("f{}", index.index),
            };
            Ok(Column {
                member,
                ty: &field.ty,
                name: given.unwrap_or(name),
                values: format_ident!("values_{at}"),
                value: format_ident!("value_{at}"),
            })
        };
        let columns: Vec<Column<'_>> =
            fields.iter().zip(fields.members()).enumerate().map(column).collect::<Result<_>>()?;
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].iter().any(|other| other.name == column.name) {
                let message = format!("two fields are the column `{}`", column.name);
                return Err(Error::new(column.ty.span(), message));
            }
        }
        Ok(columns)
    }
}

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let module = SQL.module(&input.attrs, "derived", syn::parse_quote!(::flugs::sql::types::derived))?;
    let Data::Struct(item) = &input.data else {
        let message = "SqlRow can be derived for structs alone: a row has all of its columns";
        return Err(Error::new(input.ident.span(), message));
    };
    let columns = Column::all(&item.fields)?;
    let named = matches!(item.fields, Fields::Named(_));
    let generics = bounded(&module, &input.generics)?;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let name = &input.ident;
    let fields = columns
        .iter()
        .map(|Column { ty, name, .. }| quote_spanned!(ty.span()=> #module::row_field::<#ty>(#name)));
    let to_columns = to_columns(&module, &columns);
    let to_rows = to_rows(&module, &columns);
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics #module::SqlRow for #name #type_generics #where_clause {
            const NAMED: bool = #named;

            fn fields() -> ::std::vec::Vec<#module::RowField> {
                ::std::vec![#(#fields),*]
            }

            #to_columns

            #to_rows
        }

        #[automatically_derived]
        impl #impl_generics #module::Cell for #name #type_generics #where_clause {
            fn sql_type() -> #module::SqlType {
                #module::row_type::<Self>()
            }

            fn column(
                values: ::std::vec::Vec<::core::option::Option<Self>>,
            ) -> #module::Result<#module::ArrayRef> {
                #module::row_column(values)
            }

            fn values(
                column: &#module::ArrayRef,
            ) -> #module::Result<::std::vec::Vec<::core::option::Option<Self>>> {
                #module::row_values(column)
            }
        }
    })
}

/// The type's parameters, each of them a type of columns.
fn bounded(module: &Path, generics: &Generics) -> Result<Generics> {
    let mut generics = generics.clone();
    for parameter in &mut generics.params {
        match parameter {
            GenericParam::Type(t) => {
                t.bounds.push(syn::parse_quote!(#module::Cell));
                t.bounds.push(syn::parse_quote!(::core::marker::Send));
                t.bounds.push(syn::parse_quote!('static));
            }
            GenericParam::Const(_) => {}
            GenericParam::Lifetime(l) => {
                let message =
                    "SqlRow cannot be derived for borrowed data: a row outlives the step that made it";
                return Err(Error::new(l.lifetime.span(), message));
            }
        }
    }
    Ok(generics)
}

fn to_columns(module: &Path, columns: &[Column<'_>]) -> TokenStream {
    let values: Vec<_> = columns.iter().map(|c| &c.values).collect();
    let value: Vec<_> = columns.iter().map(|c| &c.value).collect();
    let members = columns.iter().map(|c| &c.member);
    let made = columns.iter().map(
        |Column { ty, values, .. }| quote_spanned!(ty.span()=> <#ty as #module::Cell>::column(#values)?),
    );
    quote! {
        fn columns(
            rows: ::std::vec::Vec<::core::option::Option<Self>>,
        ) -> #module::Result<::std::vec::Vec<#module::ArrayRef>> {
            #(let mut #values = ::std::vec::Vec::with_capacity(rows.len());)*
            for row in rows {
                match row {
                    ::core::option::Option::Some(Self { #(#members: #value),* }) => {
                        #(#values.push(::core::option::Option::Some(#value));)*
                    }
                    ::core::option::Option::None => {
                        #(#values.push(::core::option::Option::None);)*
                    }
                }
            }
            ::core::result::Result::Ok(::std::vec![#(#made),*])
        }
    }
}

fn to_rows(module: &Path, columns: &[Column<'_>]) -> TokenStream {
    let values: Vec<_> = columns.iter().map(|c| &c.values).collect();
    let value: Vec<_> = columns.iter().map(|c| &c.value).collect();
    let members = columns.iter().map(|c| &c.member);
    let names = columns.iter().map(|c| &c.name);
    let reads = columns.iter().enumerate().map(|(at, Column { ty, values, .. })| {
        quote_spanned!(ty.span()=> let mut #values = columns.values::<#ty>(#at)?;)
    });
    quote! {
        fn rows(
            columns: &#module::RowColumns<'_>,
        ) -> #module::Result<::std::vec::Vec<::core::option::Option<Self>>> {
            #(#reads)*
            let mut rows = ::std::vec::Vec::with_capacity(columns.len());
            for at in 0..columns.len() {
                #(let #value = #values.next();)*
                rows.push(if columns.is_null(at) {
                    ::core::option::Option::None
                } else {
                    ::core::option::Option::Some(Self { #(#members: #module::next_value(#value, #names)?),* })
                });
            }
            ::core::result::Result::Ok(rows)
        }
    }
}
