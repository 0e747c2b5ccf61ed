//! URLs and internet addresses.

use crate::registry::Category;
use crate::support::{Call, Definition, Parameter};
use arrow::array::ArrayRef;
use arrow::datatypes::Int64Type;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use std::fmt::Write;

pub(super) fn definitions() -> Vec<Definition> {
    use Parameter::{BigInt, String};
    let function = |name: &str, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::String, name, usage, text, body).nullable()
    };
    vec![
        function(
            "PARSE_URL",
            "PARSE_URL(url, part[, key])",
            "A part of a URL: HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY or USERINFO, or the value of a key of its QUERY; NULL where there is none.",
            parse_url,
        )
        .takes(&[String, String])
        .optionally(&[String]),
        function("URL_ENCODE", "URL_ENCODE(string)", "The string as it may stand in the query of a URL.", |call| {
            let texts = call.strings(0);
            call.texts(|row, out| {
                let Some(text) = texts.get(row) else { return Ok(false) };
                for byte in text.bytes() {
                    match byte {
                        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => out.push(char::from(byte)),
                        b' ' => out.push('+'),
                        _ => write!(out, "%{byte:02X}").unwrap_or_default(),
                    }
                }
                Ok(true)
            })
        })
        .takes(&[String]),
        function("URL_DECODE", "URL_DECODE(string)", "What was put into a URL; NULL where it is not well written.", |call| {
            let texts = call.strings(0);
            call.collect_texts(|row| Ok(texts.get(row).and_then(url_decode)))
        })
        .takes(&[String]),
        function("INET_ATON", "INET_ATON(address)", "An IPv4 address as a number; parts left out are zero. NULL for anything else.", |call| {
            let texts = call.strings(0);
            call.collect::<Int64Type>(|row| Ok(texts.get(row).and_then(inet_aton)))
        })
        .takes(&[String])
        .returns(LogicalType::BigInt),
        function("INET_NTOA", "INET_NTOA(number)", "A number as an IPv4 address; NULL for one that is none.", |call| {
            let numbers = call.big_ints(0);
            let address = |n: i64| u32::try_from(n).ok().map(|n| std::net::Ipv4Addr::from(n).to_string());
            call.collect_texts(|row| Ok(numbers.get(row).and_then(address)))
        })
        .takes(&[BigInt]),
    ]
}

fn url_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                let digit = |d: u8| char::from(d).to_digit(16);
                bytes.push((digit(digits[0])? * 16 + digit(digits[1])?) as u8);
                rest = behind;
            }
            _ => bytes.push(*byte),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// As in MySQL: parts that are missing lie before the last one.
fn inet_aton(text: &str) -> Option<i64> {
    let parts: Vec<&str> = text.split('.').collect();
    let mut address = 0;
    for (i, part) in parts.iter().enumerate() {
        if part.is_empty() || part.len() > 10 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let value: i64 = part.parse().ok().filter(|v| *v <= 255)?;
        let place = if i + 1 == parts.len() { 3 } else { i };
        address |= value << (8 * (3 - place));
    }
    (parts.len() <= 4).then_some(address)
}

/// The parts of a URL as `java.net.URL` has them.
#[derive(Default)]
struct Url<'t> {
    protocol: String,
    authority: Option<&'t str>,
    user: Option<&'t str>,
    host: &'t str,
    path: &'t str,
    query: Option<&'t str>,
    file: &'t str,
    reference: Option<&'t str>,
}

impl<'t> Url<'t> {
    fn parse(text: &'t str) -> Option<Url<'t>> {
        let text = text.trim_matches(|c: char| c <= ' ');
        let text =
            if text.get(..4).is_some_and(|t| t.eq_ignore_ascii_case("url:")) { &text[4..] } else { text };
        let (protocol, rest) = text.split_once(':')?;
        let protocol = protocol.to_ascii_lowercase();
        // Those for which a Java runtime has a handler.
        if !["http", "https", "ftp", "file", "jar", "mailto", "jrt", "jmod"].contains(&protocol.as_str()) {
            return None;
        }
        let (rest, reference) = split_off(rest, '#');
        let mut url = Url { protocol, reference, ..Url::default() };
        let mut file = rest;
        if let Some(hierarchy) = rest.strip_prefix("//") {
            let end = hierarchy.find(['/', '?']).unwrap_or(hierarchy.len());
            url.set_authority(&hierarchy[..end])?;
            file = &hierarchy[end..];
        }
        url.file = file;
        (url.path, url.query) = split_off(file, '?');
        Some(url)
    }

    fn set_authority(&mut self, authority: &'t str) -> Option<()> {
        self.authority = Some(authority);
        let host = match authority.split_once('@') {
            // More than one: it is not clear what the host is.
            Some((_, host)) if host.contains('@') => "",
            Some((user, host)) => {
                self.user = Some(user);
                host
            }
            None => authority,
        };
        let end =
            if host.starts_with('[') { host.find(']')? + 1 } else { host.find(':').unwrap_or(host.len()) };
        match host[end..].strip_prefix(':') {
            Some("") => {}
            Some(port) => {
                port.parse::<u32>().ok()?;
            }
            None if end < host.len() => return None,
            None => {}
        }
        self.host = &host[..end];
        Some(())
    }

    fn part(&self, name: &str) -> Option<&str> {
        match name {
            "HOST" => Some(self.host),
            "PATH" => Some(self.path),
            "QUERY" => self.query,
            "REF" => self.reference,
            "PROTOCOL" => Some(&self.protocol),
            "FILE" => Some(self.file),
            "AUTHORITY" => self.authority,
            "USERINFO" => self.user,
            _ => None,
        }
    }
}

fn split_off(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(before, behind)| (before, Some(behind)))
}

fn parse_url(call: &Call<'_>) -> Result<ArrayRef> {
    let (urls, parts) = (call.strings(0), call.strings(1));
    let keys = (call.len() > 2).then(|| call.strings(2));
    call.collect_texts(|row| {
        let (Some(url), Some(part)) = (urls.get(row), parts.get(row)) else { return Ok(None) };
        let url = Url::parse(url);
        let found = url.as_ref().and_then(|u| u.part(part));
        let Some(keys) = keys else { return Ok(found.map(str::to_owned)) };
        let (Some(query), Some(key), "QUERY") = (found, keys.get(row), part) else { return Ok(None) };
        let value = |pair: &str| pair.strip_prefix(key)?.strip_prefix('=').map(str::to_owned);
        Ok(query.split('&').find_map(value))
    })
}
