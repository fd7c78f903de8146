//! The published comparisons' endpoints.

use std::time::Duration;

use hyper::http::request::Parts;
use hyper::{Body, Response};
use rand::Rng;
use serde::Serialize;

use crate::http::{json, query, query_integer, respond, Answer};
use crate::{or_answer, Server};

const WORLD_ROWS: i64 = 10_000;

#[derive(Serialize)]
struct Greeting {
    message: &'static str,
}

#[derive(Serialize)]
struct WorldRow {
    id: i64,
    #[serde(rename = "randomNumber")]
    random_number: i64,
}

#[derive(Serialize)]
struct Waited {
    waited_ms: i64,
}

pub fn health() -> Response<Body> {
    respond(200, "text/plain", "ok")
}

pub fn greet() -> Answer {
    json(200, &Greeting { message: "Hello, World!" })
}

fn random_row(server: &Server) -> rusqlite::Result<WorldRow> {
    server
        .reader
        .prepare_cached("SELECT id, random_number FROM world WHERE id = ?")?
        .query_row([rand::thread_rng().gen_range(1..=WORLD_ROWS)], |row| {
            Ok(WorldRow { id: row.get(0)?, random_number: row.get(1)? })
        })
}

pub fn one_row(server: &Server) -> Answer {
    json(200, &random_row(server)?)
}

pub fn many_rows(server: &Server, parts: &Parts) -> Answer {
    let wanted = query(parts, "queries").and_then(|text| text.parse::<i64>().ok()).unwrap_or(1);
    let rows = (0..wanted.clamp(1, 500)).map(|_| random_row(server)).collect::<Result<Vec<_>, _>>()?;
    json(200, &rows)
}

pub async fn wait(parts: &Parts) -> Answer {
    let ms = or_answer!(query_integer(parts, "ms", 0, 30_000, 1000));
    tokio::time::sleep(Duration::from_millis(ms as u64)).await;
    json(200, &Waited { waited_ms: ms })
}
