// A peer of the benchmark: net/http and database/sql over mattn/go-sqlite3, as its users would tune it. One
// connection writes, four read, every statement is prepared once. See ../README.md for what it serves.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
)

const bodyLimit = 1 << 20

type server struct {
	store  *store
	tokens *tokens
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "version" {
		os.Stdout.WriteString(runtime.Version() + " net/http, SQLite " + libraryVersion() + "\n")
		return
	}
	store, err := openStore(os.Getenv("DB"), os.Getenv("SYNC"))
	if err != nil {
		log.Fatal(err)
	}
	tokens, err := readTokens(os.Getenv("SECRET_FILE"))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), &server{store, tokens}))
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == "/products":
		byMethod(w, r, s.listProducts, s.createProduct, nil)
	case strings.HasPrefix(path, "/products/"):
		byMethod(w, r, s.readProduct, nil, s.deleteProduct)
	case path == "/api/deals":
		byMethod(w, r, s.listDeals, s.createDeal, nil)
	case path == "/health":
		byMethod(w, r, health, nil, nil)
	case path == "/json":
		byMethod(w, r, greet, nil, nil)
	case path == "/db":
		byMethod(w, r, s.oneRow, nil, nil)
	case path == "/queries":
		byMethod(w, r, s.manyRows, nil, nil)
	case path == "/wait":
		byMethod(w, r, wait, nil, nil)
	default:
		problem(w, 404, "there is nothing at this path")
	}
}

func byMethod(w http.ResponseWriter, r *http.Request, get, post, remove http.HandlerFunc) {
	var handler http.HandlerFunc
	switch r.Method {
	case "GET":
		handler = get
	case "POST":
		handler = post
	case "DELETE":
		handler = remove
	}
	if handler == nil {
		problem(w, 405, "the path does not have this method")
		return
	}
	handler(w, r)
}

// ---- answers ----------------------------------------------------------------------------------

func answer(w http.ResponseWriter, status int, value interface{}) {
	body, err := json.Marshal(value)
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}

func problem(w http.ResponseWriter, status int, detail string) {
	body, _ := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"about:blank", http.StatusText(status), status, detail})
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	w.Write(body)
}

func failed(w http.ResponseWriter, err error) {
	log.Print(err)
	problem(w, 500, "the request failed on the server's side")
}

// ---- questions --------------------------------------------------------------------------------

// Reads a JSON object into value; false when the problem has been answered.
func readBody(w http.ResponseWriter, r *http.Request, value interface{}) bool {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(value)
	var wrongType *json.UnmarshalTypeError
	misshapen := errors.As(err, &wrongType) || err != nil && strings.HasPrefix(err.Error(), "json: unknown field")
	if err != nil && !misshapen {
		problem(w, 400, "the body is not JSON")
		return false
	}
	if _, end := decoder.Token(); end != io.EOF {
		problem(w, 400, "something follows the JSON of the body")
		return false
	}
	if misshapen {
		problem(w, 422, err.Error())
	}
	return !misshapen
}

// A whole number of the query; false when the problem has been answered.
func queryInteger(w http.ResponseWriter, r *http.Request, name string, minimum, maximum, standard int64) (int64, bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return standard, true
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value < minimum || value > maximum {
		problem(w, 400, "the parameter "+name+" is out of range")
		return 0, false
	}
	return value, true
}
