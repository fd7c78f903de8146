package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const leeway = 30 // seconds by which clocks may differ

// Verifies tokens: RFC 7519, signed with HMAC-SHA-256.
type tokens struct {
	kid    string
	secret []byte
}

// The file holds one line `KID SECRET`.
func readTokens(path string) (*tokens, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	parts := strings.Fields(string(text))
	if len(parts) < 2 {
		return nil, fmt.Errorf("%s holds no line `KID SECRET`", path)
	}
	return &tokens{parts[0], []byte(parts[1])}, nil
}

var base64url = base64.RawURLEncoding.Strict()

func decode(segment string, value interface{}) bool {
	text, err := base64url.DecodeString(segment)
	return err == nil && json.Unmarshal(text, value) == nil
}

// The user of an Authorization header that holds a valid token, else 0.
func (t *tokens) verify(authorization string) int64 {
	if len(authorization) < 8 || len(authorization) > 4096 || !strings.EqualFold(authorization[:7], "Bearer ") {
		return 0
	}
	segments := strings.Split(strings.TrimSpace(authorization[7:]), ".")
	if len(segments) != 3 {
		return 0
	}
	signature, err := base64url.DecodeString(segments[2])
	mac := hmac.New(sha256.New, t.secret)
	mac.Write([]byte(segments[0] + "." + segments[1]))
	if err != nil || !hmac.Equal(signature, mac.Sum(nil)) {
		return 0
	}
	var header struct {
		Alg, Kid                 string
		Crit, Jwk, Jku, X5u, X5c json.RawMessage
	}
	if !decode(segments[0], &header) || header.Alg != "HS256" || header.Kid != "" && header.Kid != t.kid ||
		header.Crit != nil || header.Jwk != nil || header.Jku != nil || header.X5u != nil || header.X5c != nil {
		return 0
	}
	var claims struct {
		Sub           string
		Exp, Nbf, Iat *int64
	}
	if !decode(segments[1], &claims) || claims.Exp == nil {
		return 0
	}
	now := time.Now().Unix()
	user, err := strconv.ParseInt(claims.Sub, 10, 64)
	if err != nil || user < 1 || now-leeway >= *claims.Exp || claims.Nbf != nil && now+leeway < *claims.Nbf ||
		claims.Iat != nil && now+leeway < *claims.Iat {
		return 0
	}
	return user
}
