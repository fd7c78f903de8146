//! Answers, bodies and query parameters.

use std::error::Error;
use std::fmt::Display;

use hyper::body::{Bytes, HttpBody};
use hyper::header::{HeaderValue, CONTENT_TYPE};
use hyper::http::request::Parts;
use hyper::{Body, Response, StatusCode};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// An error is answered with 500, see failed().
pub type Answer = Result<Response<Body>, Box<dyn Error>>;

const BODY_LIMIT: u64 = 1 << 20;

pub fn respond(status: u16, media_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

pub fn json(status: u16, value: &impl Serialize) -> Answer {
    Ok(respond(status, "application/json", serde_json::to_vec(value)?))
}

pub fn problem(status: u16, detail: &str) -> Response<Body> {
    let title = StatusCode::from_u16(status).ok().and_then(|code| code.canonical_reason());
    let document = serde_json::json!({"type": "about:blank", "title": title, "status": status, "detail": detail});
    respond(status, "application/problem+json", document.to_string())
}

pub fn failed(error: impl Display) -> Response<Body> {
    eprintln!("{}", error);
    problem(500, "the request failed on the server's side")
}

/// The whole body, also of a request that is then refused: hyper closes the connection when one stays unread. The
/// error is the answer.
pub async fn read_body(body: Body) -> Result<Bytes, Response<Body>> {
    if body.size_hint().exact().map_or(true, |length| length > BODY_LIMIT) {
        return Err(problem(413, "the body may have at most 1 MiB, and its length must be told"));
    }
    hyper::body::to_bytes(body).await.map_err(|_| problem(400, "the body cannot be read"))
}

/// Reads a JSON object; the error is the answer.
pub fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Response<Body>> {
    serde_json::from_slice(body).map_err(|error| {
        if error.is_data() && serde_json::from_slice::<IgnoredAny>(body).is_ok() {
            problem(422, &error.to_string())
        } else {
            problem(400, "the body is not JSON")
        }
    })
}

/// A parameter's raw text; a number needs no decoding.
pub fn query<'a>(parts: &'a Parts, name: &str) -> Option<&'a str> {
    parts.uri.query()?.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// A whole number; the error is the answer.
pub fn query_integer(
    parts: &Parts,
    name: &str,
    minimum: i64,
    maximum: i64,
    standard: i64,
) -> Result<i64, Response<Body>> {
    match query(parts, name) {
        None => Ok(standard),
        Some(text) => match text.parse() {
            Ok(value) if value >= minimum && value <= maximum => Ok(value),
            _ => Err(problem(400, &format!("the parameter {} is out of range", name))),
        },
    }
}

/// Goes on with the value, or returns the answer that stands in its place.
#[macro_export]
macro_rules! or_answer {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(response) => return Ok(response),
        }
    };
}
