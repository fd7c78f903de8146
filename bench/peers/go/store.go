package main

import (
	"database/sql"
	"math/rand"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/mattn/go-sqlite3"
)

const worldRows = 10000

type store struct {
	product, products, insertProduct, deleteProduct  *sql.Stmt
	deals, dealTotal, deal, insertDeal, user, oneRow *sql.Stmt
}

func libraryVersion() string {
	version, _, _ := sqlite3.Version()
	return version
}

func open(path, options string, connections int) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?_busy_timeout=2000&_foreign_keys=on&_mutex=no&"+options)
	if err == nil {
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
	}
	return db, err
}

func openStore(path, sync string) (*store, error) {
	if sync == "" {
		sync = "full"
	}
	writer, err := open(path, "_journal_mode=wal&_synchronous="+sync, 1)
	if err != nil {
		return nil, err
	}
	readers, err := open(path, "mode=ro", 4)
	if err != nil {
		return nil, err
	}
	s := &store{}
	const product = `SELECT p.id, p.sku, p.name, p.price_cents, p.stock, c.id, c.name, p.created_at, p.updated_at
		FROM products p JOIN categories c ON c.id = p.category_id `
	for _, each := range []struct {
		statement **sql.Stmt
		db        *sql.DB
		text      string
	}{
		{&s.product, readers, product + "WHERE p.id = ?"},
		{&s.products, readers, product + "WHERE p.id > ? ORDER BY p.id LIMIT ?"},
		{&s.insertProduct, writer, `INSERT INTO products (sku, name, price_cents, stock, category_id, created_at,
			updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`},
		{&s.deleteProduct, writer, "DELETE FROM products WHERE id = ?"},
		{&s.deals, readers, `SELECT d.id, d.title, d.amount_cents, d.status, u.id, u.name, d.created_at
			FROM (SELECT id FROM deals ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?) page
			JOIN deals d ON d.id = page.id JOIN users u ON u.id = d.owner_id ORDER BY d.created_at DESC, d.id DESC`},
		{&s.dealTotal, readers, "SELECT sum(count) FROM deal_counts"},
		{&s.deal, readers, `SELECT d.id, d.title, d.amount_cents, d.status, u.id, u.name, d.created_at
			FROM deals d JOIN users u ON u.id = d.owner_id WHERE d.id = ?`},
		{&s.insertDeal, writer, `INSERT INTO deals (title, amount_cents, status, owner_id, created_at)
			VALUES (?, ?, ?, ?, ?)`},
		{&s.user, readers, "SELECT 1 FROM users WHERE id = ? AND active = 1"},
		{&s.oneRow, readers, "SELECT id, random_number FROM world WHERE id = ?"},
	} {
		if *each.statement, err = each.db.Prepare(each.text); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// True when the error is a constraint of that kind.
func isConstraint(err error, kind sqlite3.ErrNoExtended) bool {
	told, ok := err.(sqlite3.Error)
	return ok && told.ExtendedCode == kind
}

func now() string {
	return time.Now().UTC().Format("2006-01-02T15:04:05Z")
}

// ---- probes -----------------------------------------------------------------------------------

func health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Write([]byte("ok"))
}

func greet(w http.ResponseWriter, r *http.Request) {
	answer(w, 200, struct {
		Message string `json:"message"`
	}{"Hello, World!"})
}

type worldRow struct {
	ID           int64 `json:"id"`
	RandomNumber int64 `json:"randomNumber"`
}

func (s *store) randomRow() (row worldRow, err error) {
	err = s.oneRow.QueryRow(rand.Intn(worldRows)+1).Scan(&row.ID, &row.RandomNumber)
	return
}

func (s *server) oneRow(w http.ResponseWriter, r *http.Request) {
	row, err := s.store.randomRow()
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, 200, row)
}

func (s *server) manyRows(w http.ResponseWriter, r *http.Request) {
	count, _ := strconv.Atoi(r.URL.Query().Get("queries"))
	if count < 1 {
		count = 1
	} else if count > 500 {
		count = 500
	}
	rows := make([]worldRow, count)
	for i := range rows {
		var err error
		if rows[i], err = s.store.randomRow(); err != nil {
			failed(w, err)
			return
		}
	}
	answer(w, 200, rows)
}

func wait(w http.ResponseWriter, r *http.Request) {
	if ms, ok := queryInteger(w, r, "ms", 0, 30000, 1000); ok {
		time.Sleep(time.Duration(ms) * time.Millisecond)
		answer(w, 200, struct {
			WaitedMS int64 `json:"waited_ms"`
		}{ms})
	}
}
