use std::borrow::Cow;

use hyper::header::{HeaderValue, LOCATION};
use hyper::http::request::Parts;
use hyper::{Body, Response, StatusCode};
use rusqlite::{params, Row};
use serde::{Deserialize, Serialize};

use crate::http::{json, parse, problem, query_integer, Answer};
use crate::store::{constraint, is_title, now, FOREIGN_KEY, UNIQUE};
use crate::{or_answer, Server};

macro_rules! select_product {
    ($rest:literal) => {
        concat!(
            "SELECT p.id, p.sku, p.name, p.price_cents, p.stock, c.id, c.name, p.created_at, p.updated_at ",
            "FROM products p JOIN categories c ON c.id = p.category_id ",
            $rest
        )
    };
}

#[derive(Serialize)]
struct Category<T> {
    id: i64,
    name: T,
}

/// Of text borrowed from the row, or of its own.
#[derive(Serialize)]
struct Product<T> {
    id: i64,
    sku: T,
    name: T,
    price_cents: i64,
    stock: i64,
    category: Category<T>,
    created_at: T,
    updated_at: T,
}

impl<'a> Product<&'a str> {
    fn borrow(row: &'a Row) -> rusqlite::Result<Self> {
        Ok(Product {
            id: row.get(0)?,
            sku: row.get_ref(1)?.as_str()?,
            name: row.get_ref(2)?.as_str()?,
            price_cents: row.get(3)?,
            stock: row.get(4)?,
            category: Category { id: row.get(5)?, name: row.get_ref(6)?.as_str()? },
            created_at: row.get_ref(7)?.as_str()?,
            updated_at: row.get_ref(8)?.as_str()?,
        })
    }

    fn own(self) -> Product<String> {
        Product {
            id: self.id,
            sku: self.sku.into(),
            name: self.name.into(),
            price_cents: self.price_cents,
            stock: self.stock,
            category: Category { id: self.category.id, name: self.category.name.into() },
            created_at: self.created_at.into(),
            updated_at: self.updated_at.into(),
        }
    }
}

#[derive(Serialize)]
struct Page {
    items: Vec<Product<String>>,
    next: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProductBody<'a> {
    #[serde(borrow)]
    sku: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    price_cents: i64,
    #[serde(default)]
    stock: i64,
    category_id: i64,
}

impl ProductBody<'_> {
    fn fault(&self) -> Option<&'static str> {
        let is_token = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-');
        if self.sku.is_empty() || self.sku.len() > 64 || !self.sku.bytes().all(is_token) {
            Some("sku must be 1 to 64 of A-Z a-z 0-9 . _ -")
        } else if !is_title(&self.name) {
            Some("name must be 1 to 200 characters and not blank")
        } else if !(0..=1_000_000_000_000).contains(&self.price_cents) {
            Some("price_cents must be from 0 to 10^12")
        } else if !(0..=1_000_000_000).contains(&self.stock) {
            Some("stock must be from 0 to 10^9")
        } else {
            None
        }
    }
}

fn not_found() -> Response<Body> {
    problem(404, "there is no product with this id")
}

fn show(server: &Server, status: u16, id: i64) -> Answer {
    let mut statement = server.reader.prepare_cached(select_product!("WHERE p.id = ?"))?;
    let mut rows = statement.query([id])?;
    match rows.next()? {
        Some(row) => json(status, &Product::borrow(row)?),
        None => Ok(not_found()),
    }
}

pub fn read(server: &Server, id: &str) -> Answer {
    match id.parse() {
        Ok(id) => show(server, 200, id),
        Err(_) => Ok(not_found()),
    }
}

pub fn list(server: &Server, parts: &Parts) -> Answer {
    let limit = or_answer!(query_integer(parts, "limit", 1, 100, 20));
    let after = or_answer!(query_integer(parts, "after", 0, i64::MAX, 0));
    let mut statement = server.reader.prepare_cached(select_product!("WHERE p.id > ? ORDER BY p.id LIMIT ?"))?;
    let mut items = statement
        .query_map([after, limit + 1], |row| Ok(Product::borrow(row)?.own()))?
        .collect::<Result<Vec<_>, _>>()?;
    let more = items.len() as i64 > limit;
    items.truncate(limit as usize);
    let next = items.last().filter(|_| more).map(|last| format!("/products?after={}&limit={}", last.id, limit));
    json(200, &Page { items, next })
}

/// The statement is the transaction: it is committed when execute() returns.
fn insert(server: &Server, body: &ProductBody) -> rusqlite::Result<i64> {
    let writer = server.writer.lock().unwrap();
    writer
        .prepare_cached(
            "INSERT INTO products (sku, name, price_cents, stock, category_id, created_at, updated_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
        )?
        .execute(params![body.sku, body.name, body.price_cents, body.stock, body.category_id, now()])?;
    Ok(writer.last_insert_rowid())
}

pub fn create(server: &Server, body: &[u8]) -> Answer {
    let body: ProductBody = or_answer!(parse(body));
    if let Some(fault) = body.fault() {
        return Ok(problem(422, fault));
    }
    let id = match insert(server, &body) {
        Ok(id) => id,
        Err(error) => {
            return match constraint(&error) {
                Some(UNIQUE) => Ok(problem(409, "another product has this sku")),
                Some(FOREIGN_KEY) => Ok(problem(422, "category_id refers to nothing that exists")),
                _ => Err(error.into()),
            }
        }
    };
    let mut response = show(server, 201, id)?;
    response.headers_mut().insert(LOCATION, HeaderValue::try_from(format!("/products/{}", id))?);
    Ok(response)
}

pub fn delete(server: &Server, id: &str) -> Answer {
    let deleted = match id.parse::<i64>() {
        Ok(id) => server.writer.lock().unwrap().prepare_cached("DELETE FROM products WHERE id = ?")?.execute([id])?,
        Err(_) => 0,
    };
    if deleted == 0 {
        return Ok(not_found());
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}
