//! The database's connections.

use chrono::Utc;
use rusqlite::ffi::ErrorCode;
use rusqlite::{Connection, Error, OpenFlags};

const CACHED_STATEMENTS: usize = 32;

// SQLite's extended result codes; the driver has no names for them
pub const UNIQUE: i32 = 2067;
pub const FOREIGN_KEY: i32 = 787;

fn open(path: &str, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(std::time::Duration::from_secs(2))?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok(connection)
}

pub fn open_reader(path: &str) -> rusqlite::Result<Connection> {
    open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

pub fn open_writer(path: &str, sync: &str) -> rusqlite::Result<Connection> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", sync)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// The kind of constraint that was violated, as SQLite's extended code.
pub fn constraint(error: &Error) -> Option<i32> {
    match error {
        Error::SqliteFailure(failure, _) if failure.code == ErrorCode::ConstraintViolation => {
            Some(failure.extended_code)
        }
        _ => None,
    }
}

pub fn now() -> String {
    Utc::now().format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A title or a name: 1 to 200 characters, not all of them blank.
pub fn is_title(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= 200
}
