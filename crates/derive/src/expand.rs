//! The generated `impl Data`.

use crate::attributes::DATA;
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Data, DataEnum, DeriveInput, Error, Fields, GenericParam, Generics, Ident, Member, Path, Result, Type,
};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let data = DATA.module(&input.attrs, "data", syn::parse_quote!(::flugs::data))?;
    let body = match &input.data {
        Data::Struct(item) => expand_struct(&data, &input.ident, &Part::all(&item.fields)?),
        Data::Enum(item) => expand_enum(&data, &input.ident, item)?,
        Data::Union(item) => {
            let message =
                "Data cannot be derived for a union: its bytes do not say which field they are; use an enum";
            return Err(Error::new(item.union_token.span, message));
        }
    };
    let generics = bounded(&data, &input.generics)?;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let name = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        #[allow(unused_variables)]
        impl #impl_generics #data::Data for #name #type_generics #where_clause {
            fn schema() -> #data::Schema {
                <Self as #data::Data>::describe(&mut ::core::default::Default::default())
            }
            #body
        }
    })
}

/// The type's parameters, each of them `Data`.
fn bounded(data: &Path, generics: &Generics) -> Result<Generics> {
    let mut generics = generics.clone();
    for parameter in &mut generics.params {
        match parameter {
            GenericParam::Type(t) => t.bounds.push(syn::parse_quote!(#data::Data)),
            GenericParam::Const(_) => {}
            GenericParam::Lifetime(l) => {
                let message = "Data cannot be derived for borrowed data: a record outlives the step that made it; \
                               own it (String, Vec, Arc)";
                return Err(Error::new(l.lifetime.span(), message));
            }
        }
    }
    Ok(generics)
}

/// A field of a struct or of a variant.
struct Part<'a> {
    member: Member,
    ty: &'a Type,
    has_default: bool,
    /// The local variable that refers to it.
    bound: Ident,
}

impl<'a> Part<'a> {
    fn all(fields: &'a Fields) -> Result<Vec<Part<'a>>> {
        let part = |(field, member): (&'a syn::Field, Member)| {
            let bound = match &member {
                Member::Named(name) => format_ident!("field_{}", name.unraw()),
                Member::Unnamed(index) => format_ident!("field_{}", index.index),
            };
            Ok(Part { member, ty: &field.ty, has_default: DATA.has_default(&field.attrs)?, bound })
        };
        fields.iter().zip(fields.members()).map(part).collect()
    }

    /// A pattern after the name of the struct or variant, which binds all fields by reference: matched against `*self`,
    /// which an enum without variants allows too.
    fn pattern(parts: &[Part<'_>]) -> TokenStream {
        let members = parts.iter().map(|p| &p.member);
        let bounds = parts.iter().map(|p| &p.bound);
        quote!({ #(#members: ref #bounds),* })
    }

    fn fields(data: &Path, parts: &[Part<'_>]) -> TokenStream {
        let fields = parts.iter().map(|p| {
            let (ty, name) = (p.ty, p.name());
            let make = if p.has_default { quote!(with_default) } else { quote!(of) };
            quote_spanned!(ty.span()=> #data::Field::#make::<#ty>(#name, nesting))
        });
        quote!(::std::vec![#(#fields),*])
    }

    fn encode(data: &Path, parts: &[Part<'_>]) -> TokenStream {
        let steps = parts.iter().map(
            |Part { ty, bound, .. }| quote_spanned!(ty.span()=> <#ty as #data::Data>::encode(#bound, out);),
        );
        quote!(#(#steps)*)
    }

    fn decode(data: &Path, parts: &[Part<'_>]) -> TokenStream {
        let fields = parts.iter().map(|Part { ty, member, .. }| {
            quote_spanned!(ty.span()=> #member: <#ty as #data::Data>::decode(input)?)
        });
        quote!({ #(#fields),* })
    }

    fn heap_bytes(data: &Path, parts: &[Part<'_>]) -> TokenStream {
        let terms = parts.iter().map(
            |Part { ty, bound, .. }| quote_spanned!(ty.span()=> <#ty as #data::Data>::heap_bytes(#bound)),
        );
        quote!(0usize #(+ #terms)*)
    }

    /// The name in the schema.
    fn name(&self) -> String {
        match &self.member {
            Member::Named(name) => name.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        }
    }
}

fn expand_struct(data: &Path, name: &Ident, parts: &[Part<'_>]) -> TokenStream {
    let name = name.unraw().to_string();
    let types = parts.iter().map(|p| p.ty);
    let pattern = Part::pattern(parts);
    let fields = Part::fields(data, parts);
    let encode = Part::encode(data, parts);
    let decode = Part::decode(data, parts);
    let heap_bytes = Part::heap_bytes(data, parts);
    quote! {
        const BYTES_MIN: usize = 0 #(+ <#types as #data::Data>::BYTES_MIN)*;

        fn describe(nesting: &mut #data::Nesting) -> #data::Schema {
            nesting.enter::<Self>(|nesting| #data::Schema::Struct {
                name: ::std::string::String::from(#name),
                fields: #fields,
            })
        }

        #[inline]
        fn encode(&self, out: &mut ::std::vec::Vec<u8>) {
            let Self #pattern = *self;
            #encode
        }

        #[inline]
        fn decode(input: &mut #data::Reader<'_>) -> ::core::result::Result<Self, #data::DecodeError> {
            ::core::result::Result::Ok(Self #decode)
        }

        #[inline]
        fn heap_bytes(&self) -> usize {
            let Self #pattern = *self;
            #heap_bytes
        }
    }
}

fn expand_enum(data: &Path, name: &Ident, item: &DataEnum) -> Result<TokenStream> {
    let name = name.unraw().to_string();
    let (mut describes, mut encodes, mut decodes, mut heaps) = (vec![], vec![], vec![], vec![]);
    for (ordinal, variant) in item.variants.iter().enumerate() {
        DATA.none_on_variant(&variant.attrs)?;
        let parts = Part::all(&variant.fields)?;
        let (ident, variant_name) = (&variant.ident, variant.ident.unraw().to_string());
        let ordinal = Literal::u32_suffixed(ordinal as u32);
        let pattern = Part::pattern(&parts);
        let fields = Part::fields(data, &parts);
        describes.push(quote! {
            #data::Variant { name: ::std::string::String::from(#variant_name), fields: #fields }
        });
        let encode = Part::encode(data, &parts);
        encodes.push(quote!(Self::#ident #pattern => { #data::Data::encode(&#ordinal, out); #encode }));
        let decode = Part::decode(data, &parts);
        decodes.push(quote!(#ordinal => ::core::result::Result::Ok(Self::#ident #decode)));
        let heap_bytes = Part::heap_bytes(data, &parts);
        heaps.push(quote!(Self::#ident #pattern => #heap_bytes));
    }
    Ok(quote! {
        // The ordinal alone: what the variants take may depend on this very type.
        const BYTES_MIN: usize = 4;

        fn describe(nesting: &mut #data::Nesting) -> #data::Schema {
            nesting.enter::<Self>(|nesting| #data::Schema::Enum {
                name: ::std::string::String::from(#name),
                variants: ::std::vec![#(#describes),*],
            })
        }

        #[inline]
        fn encode(&self, out: &mut ::std::vec::Vec<u8>) {
            match *self { #(#encodes),* }
        }

        #[inline]
        fn decode(input: &mut #data::Reader<'_>) -> ::core::result::Result<Self, #data::DecodeError> {
            match <u32 as #data::Data>::decode(input)? {
                #(#decodes,)*
                other => ::core::result::Result::Err(#data::DecodeError::no_variant(#name, other)),
            }
        }

        #[inline]
        fn heap_bytes(&self) -> usize {
            match *self { #(#heaps),* }
        }
    })
}
