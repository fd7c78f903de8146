package main

import (
	"net/http"
	"strconv"
)

type deal struct {
	ID          int64  `json:"id"`
	Title       string `json:"title"`
	AmountCents int64  `json:"amount_cents"`
	Status      string `json:"status"`
	Owner       struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	} `json:"owner"`
	CreatedAt string `json:"created_at"`
}

func (d *deal) scan(row interface{ Scan(...interface{}) error }) error {
	return row.Scan(&d.ID, &d.Title, &d.AmountCents, &d.Status, &d.Owner.ID, &d.Owner.Name, &d.CreatedAt)
}

type dealBody struct {
	Title       *string `json:"title"`
	AmountCents *int64  `json:"amount_cents"`
	Status      *string `json:"status"`
}

func (b *dealBody) fault() string {
	switch {
	case !isTitle(b.Title):
		return "title must be 1 to 200 characters and not blank"
	case !isBetween(b.AmountCents, 0, 1e15):
		return "amount_cents must be a whole number from 0 to 10^15"
	case b.Status != nil && *b.Status != "open" && *b.Status != "won" && *b.Status != "lost":
		return "status must be open, won or lost"
	}
	return ""
}

// The user of the request's token; 0 when the problem has been answered.
func (s *server) user(w http.ResponseWriter, r *http.Request) int64 {
	user, active := s.tokens.verify(r.Header.Get("Authorization")), 0
	if user != 0 && s.store.user.QueryRow(user).Scan(&active) == nil {
		return user
	}
	w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	problem(w, 401, "a valid token is needed")
	return 0
}

func (s *server) listDeals(w http.ResponseWriter, r *http.Request) {
	if s.user(w, r) == 0 {
		return
	}
	number, ok := queryInteger(w, r, "page", 1, 1<<53, 1)
	if !ok {
		return
	}
	size, ok := queryInteger(w, r, "per_page", 1, 100, 20)
	if !ok {
		return
	}
	page := struct {
		Items   []deal `json:"items"`
		Page    int64  `json:"page"`
		PerPage int64  `json:"per_page"`
		Total   int64  `json:"total"`
		Pages   int64  `json:"pages"`
	}{Items: make([]deal, 0, size), Page: number, PerPage: size}
	if err := s.store.dealTotal.QueryRow().Scan(&page.Total); err != nil {
		failed(w, err)
		return
	}
	page.Pages = (page.Total + size - 1) / size
	rows, err := s.store.deals.Query(size, (number-1)*size)
	if err != nil {
		failed(w, err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var d deal
		if err := d.scan(rows); err != nil {
			failed(w, err)
			return
		}
		page.Items = append(page.Items, d)
	}
	if err := rows.Err(); err != nil {
		failed(w, err)
		return
	}
	answer(w, 200, &page)
}

func (s *server) createDeal(w http.ResponseWriter, r *http.Request) {
	user := s.user(w, r)
	if user == 0 {
		return
	}
	var body dealBody
	if !readBody(w, r, &body) {
		return
	}
	if fault := body.fault(); fault != "" {
		problem(w, 422, fault)
		return
	}
	status := "open"
	if body.Status != nil {
		status = *body.Status
	}
	done, err := s.store.insertDeal.Exec(*body.Title, *body.AmountCents, status, user, now())
	if err != nil {
		failed(w, err)
		return
	}
	id, _ := done.LastInsertId()
	var d deal
	if err := d.scan(s.store.deal.QueryRow(id)); err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Location", "/api/deals/"+strconv.FormatInt(id, 10))
	answer(w, 201, &d)
}
