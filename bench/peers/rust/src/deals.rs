use hyper::header::{HeaderValue, AUTHORIZATION, LOCATION, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::{Body, Response};
use rusqlite::{params, Row};
use serde::{Deserialize, Serialize};

use crate::http::{json, parse, problem, query_integer, Answer};
use crate::store::{is_title, now};
use crate::{or_answer, Server};

#[derive(Serialize)]
struct Owner {
    id: i64,
    name: String,
}

#[derive(Serialize)]
struct Deal {
    id: i64,
    title: String,
    amount_cents: i64,
    status: String,
    owner: Owner,
    created_at: String,
}

impl Deal {
    fn from_row(row: &Row) -> rusqlite::Result<Self> {
        Ok(Deal {
            id: row.get(0)?,
            title: row.get(1)?,
            amount_cents: row.get(2)?,
            status: row.get(3)?,
            owner: Owner { id: row.get(4)?, name: row.get(5)? },
            created_at: row.get(6)?,
        })
    }
}

#[derive(Serialize)]
struct Page {
    items: Vec<Deal>,
    page: i64,
    per_page: i64,
    total: i64,
    pages: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DealBody {
    title: String,
    amount_cents: i64,
    #[serde(default = "open")]
    status: String,
}

fn open() -> String {
    "open".into()
}

impl DealBody {
    fn fault(&self) -> Option<&'static str> {
        if !is_title(&self.title) {
            Some("title must be 1 to 200 characters and not blank")
        } else if !(0..=1_000_000_000_000_000).contains(&self.amount_cents) {
            Some("amount_cents must be from 0 to 10^15")
        } else if !["open", "won", "lost"].contains(&self.status.as_str()) {
            Some("status must be open, won or lost")
        } else {
            None
        }
    }
}

/// The user of the request's token; the error is the answer.
fn user(server: &Server, parts: &Parts) -> Result<i64, Response<Body>> {
    let is_active = |user: &i64| {
        let statement = server.reader.prepare_cached("SELECT 1 FROM users WHERE id = ? AND active = 1");
        statement.and_then(|mut statement| statement.exists([user])).unwrap_or(false)
    };
    let header = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    header.and_then(|value| server.tokens.verify(value)).filter(is_active).ok_or_else(|| {
        let mut response = problem(401, "a valid token is needed");
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer error=\"invalid_token\""));
        response
    })
}

pub fn list(server: &Server, parts: &Parts) -> Answer {
    or_answer!(user(server, parts));
    let page = or_answer!(query_integer(parts, "page", 1, 1 << 53, 1));
    let per_page = or_answer!(query_integer(parts, "per_page", 1, 100, 20));
    let total = server
        .reader
        .prepare_cached("SELECT sum(count) FROM deal_counts")?
        .query_row([], |row| row.get::<_, i64>(0))?;
    let items = server
        .reader
        .prepare_cached(
            "SELECT d.id, d.title, d.amount_cents, d.status, u.id, u.name, d.created_at \
             FROM (SELECT id FROM deals ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?) page \
             JOIN deals d ON d.id = page.id JOIN users u ON u.id = d.owner_id \
             ORDER BY d.created_at DESC, d.id DESC",
        )?
        .query_map([per_page, (page - 1) * per_page], Deal::from_row)?
        .collect::<Result<Vec<_>, _>>()?;
    json(200, &Page { items, page, per_page, total, pages: (total + per_page - 1) / per_page })
}

fn insert(server: &Server, body: &DealBody, owner: i64) -> rusqlite::Result<i64> {
    let writer = server.writer.lock().unwrap();
    writer
        .prepare_cached("INSERT INTO deals (title, amount_cents, status, owner_id, created_at) VALUES (?, ?, ?, ?, ?)")?
        .execute(params![body.title, body.amount_cents, body.status, owner, now()])?;
    Ok(writer.last_insert_rowid())
}

pub fn create(server: &Server, parts: &Parts, body: &[u8]) -> Answer {
    let owner = or_answer!(user(server, parts));
    let body: DealBody = or_answer!(parse(body));
    if let Some(fault) = body.fault() {
        return Ok(problem(422, fault));
    }
    let id = insert(server, &body, owner)?;
    let deal = server
        .reader
        .prepare_cached(
            "SELECT d.id, d.title, d.amount_cents, d.status, u.id, u.name, d.created_at \
             FROM deals d JOIN users u ON u.id = d.owner_id WHERE d.id = ?",
        )?
        .query_row([id], Deal::from_row)?;
    let mut response = json(201, &deal)?;
    response.headers_mut().insert(LOCATION, HeaderValue::try_from(format!("/api/deals/{}", id))?);
    Ok(response)
}
