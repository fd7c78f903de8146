//! Verifies tokens: RFC 7519, signed with HMAC-SHA-256.

use std::borrow::Cow;

use base64::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use serde::de::IgnoredAny;
use serde::Deserialize;
use sha2::Sha256;

const LEEWAY: i64 = 30; // seconds by which clocks may differ

pub struct Tokens {
    kid: String,
    mac: Hmac<Sha256>,
}

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    alg: Cow<'a, str>,
    #[serde(borrow)]
    kid: Option<Cow<'a, str>>,
    crit: Option<IgnoredAny>,
    jwk: Option<IgnoredAny>,
    jku: Option<IgnoredAny>,
    x5u: Option<IgnoredAny>,
    x5c: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Claims<'a> {
    #[serde(borrow)]
    sub: Cow<'a, str>,
    exp: i64,
    nbf: Option<i64>,
    iat: Option<i64>,
}

fn decode(segment: &str) -> Option<Vec<u8>> {
    base64::decode_config(segment, URL_SAFE_NO_PAD).ok()
}

impl Tokens {
    /// The file holds one line `KID SECRET`.
    pub fn read(path: &str) -> std::io::Result<Tokens> {
        let text = std::fs::read_to_string(path)?;
        let mut words = text.split_whitespace();
        match (words.next(), words.next()) {
            (Some(kid), Some(secret)) => Ok(Tokens {
                kid: kid.into(),
                mac: Hmac::new_from_slice(secret.as_bytes()).expect("a key of any length"),
            }),
            _ => Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "no line `KID SECRET`")),
        }
    }

    /// The user of an Authorization header that holds a valid token.
    pub fn verify(&self, authorization: &str) -> Option<i64> {
        let (scheme, token) = authorization.split_once(' ')?;
        let (signed, signature) = token.trim().rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        if !scheme.eq_ignore_ascii_case("Bearer") || token.len() > 4096 {
            return None;
        }
        let mut mac = self.mac.clone();
        mac.update(signed.as_bytes());
        mac.verify_slice(&decode(signature)?).ok()?;
        let (header, claims) = (decode(header)?, decode(claims)?);
        let header: Header = serde_json::from_slice(&header).ok()?;
        let claims: Claims = serde_json::from_slice(&claims).ok()?;
        let brings_a_key =
            [&header.crit, &header.jwk, &header.jku, &header.x5u, &header.x5c].iter().any(|it| it.is_some());
        let now = chrono::Utc::now().timestamp();
        let in_time = now - LEEWAY < claims.exp
            && now + LEEWAY >= claims.nbf.unwrap_or(0)
            && now + LEEWAY >= claims.iat.unwrap_or(0);
        let named = header.kid.map_or(true, |kid| kid == self.kid);
        if header.alg != "HS256" || brings_a_key || !named || !in_time {
            return None;
        }
        claims.sub.parse().ok().filter(|user| *user > 0)
    }
}
