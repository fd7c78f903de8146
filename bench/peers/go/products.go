package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-sqlite3"
)

type product struct {
	ID         int64  `json:"id"`
	SKU        string `json:"sku"`
	Name       string `json:"name"`
	PriceCents int64  `json:"price_cents"`
	Stock      int64  `json:"stock"`
	Category   struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	} `json:"category"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

func (p *product) scan(row interface{ Scan(...interface{}) error }) error {
	return row.Scan(&p.ID, &p.SKU, &p.Name, &p.PriceCents, &p.Stock, &p.Category.ID, &p.Category.Name, &p.CreatedAt,
		&p.UpdatedAt)
}

// A member that is missing stays nil.
type productBody struct {
	SKU        *string `json:"sku"`
	Name       *string `json:"name"`
	PriceCents *int64  `json:"price_cents"`
	Stock      int64   `json:"stock"`
	CategoryID *int64  `json:"category_id"`
}

var skuForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func isTitle(text *string) bool {
	return text != nil && utf8.RuneCountInString(*text) <= 200 && strings.TrimSpace(*text) != ""
}

func isBetween(value *int64, minimum, maximum int64) bool {
	return value != nil && *value >= minimum && *value <= maximum
}

// What is wrong with it, empty when nothing is.
func (b *productBody) fault() string {
	switch {
	case b.SKU == nil || !skuForm.MatchString(*b.SKU):
		return "sku must be 1 to 64 of A-Z a-z 0-9 . _ -"
	case !isTitle(b.Name):
		return "name must be 1 to 200 characters and not blank"
	case !isBetween(b.PriceCents, 0, 1e12):
		return "price_cents must be a whole number from 0 to 10^12"
	case !isBetween(&b.Stock, 0, 1e9):
		return "stock must be a whole number from 0 to 10^9"
	case b.CategoryID == nil:
		return "category_id is required"
	}
	return ""
}

func (s *server) answerProduct(w http.ResponseWriter, status int, id int64) {
	var p product
	switch err := p.scan(s.store.product.QueryRow(id)); err {
	case nil:
		answer(w, status, &p)
	case sql.ErrNoRows:
		problem(w, 404, "there is no product with this id")
	default:
		failed(w, err)
	}
}

// The id at the end of the path; false when the problem has been answered.
func productID(w http.ResponseWriter, r *http.Request) (int64, bool) {
	id, err := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/products/"), 10, 64)
	if err != nil || id < 1 {
		problem(w, 404, "there is no product with this id")
		return 0, false
	}
	return id, true
}

func (s *server) readProduct(w http.ResponseWriter, r *http.Request) {
	if id, ok := productID(w, r); ok {
		s.answerProduct(w, 200, id)
	}
}

func (s *server) listProducts(w http.ResponseWriter, r *http.Request) {
	limit, ok := queryInteger(w, r, "limit", 1, 100, 20)
	if !ok {
		return
	}
	after, ok := queryInteger(w, r, "after", 0, 1<<63-1, 0)
	if !ok {
		return
	}
	rows, err := s.store.products.Query(after, limit+1)
	if err != nil {
		failed(w, err)
		return
	}
	defer rows.Close()
	page := struct {
		Items []product `json:"items"`
		Next  *string   `json:"next"`
	}{Items: make([]product, 0, limit)}
	for rows.Next() {
		if int64(len(page.Items)) == limit {
			next := fmt.Sprintf("/products?after=%d&limit=%d", page.Items[limit-1].ID, limit)
			page.Next = &next
			break
		}
		var p product
		if err := p.scan(rows); err != nil {
			failed(w, err)
			return
		}
		page.Items = append(page.Items, p)
	}
	if err := rows.Err(); err != nil {
		failed(w, err)
		return
	}
	answer(w, 200, &page)
}

// The statement is the transaction: it is committed when Exec returns.
func (s *server) createProduct(w http.ResponseWriter, r *http.Request) {
	var body productBody
	if !readBody(w, r, &body) {
		return
	}
	if fault := body.fault(); fault != "" {
		problem(w, 422, fault)
		return
	}
	done, err := s.store.insertProduct.Exec(*body.SKU, *body.Name, *body.PriceCents, body.Stock, *body.CategoryID, now())
	switch {
	case isConstraint(err, sqlite3.ErrConstraintUnique):
		problem(w, 409, "another product has this sku")
	case isConstraint(err, sqlite3.ErrConstraintForeignKey):
		problem(w, 422, "category_id refers to nothing that exists")
	case err != nil:
		failed(w, err)
	default:
		id, _ := done.LastInsertId()
		w.Header().Set("Location", "/products/"+strconv.FormatInt(id, 10))
		s.answerProduct(w, 201, id)
	}
}

func (s *server) deleteProduct(w http.ResponseWriter, r *http.Request) {
	id, ok := productID(w, r)
	if !ok {
		return
	}
	done, err := s.store.deleteProduct.Exec(id)
	if err != nil {
		failed(w, err)
		return
	}
	if changed, _ := done.RowsAffected(); changed == 0 {
		problem(w, 404, "there is no product with this id")
		return
	}
	w.WriteHeader(204)
}
