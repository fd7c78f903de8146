"""The web server's own part of the contract: what another server than nginx answers in its own way.

`contract.py --application` leaves these checks out. Each line is the beginning of checks' names (what stands behind
the section), under the reason why the service has no say in them.
"""

OWN_PART = {
    "a message that is not valid HTTP is refused by the web server, with a page of its own": [
        "a request line of one word", "a method with an @", "a method in lower case", "a protocol that is not HTTP",
        "a target without a slash", "HTTP/1.1 without Host", "a second Host", "a Host that is no host",
        "a header line of words without a colon", "a header name before a space", "a header without a name",
        "a header with NUL in it", "Content-Length: abc", "Content-Length: -1", "Content-Length: 0x2",
        "a second Content-Length", "Content-Length beside chunked", "a chunk size that is no number", "HTTP/3.0", "HTTP/2.0",
        "Transfer-Encoding: gzip, chunked", "a Content-Length over 64 bits",
        "a 400 for a request that cannot be read has an X-Request-Id"],
    "how long a line may be is the web server's limit": [
        "a target of 10,000 characters", "a header of 20,000 characters", "a hundred headers of 1,000 characters",
        "a 414 for a request that cannot be read", "a 431 for a request that cannot be read", "a 414 has Server, Date",
        "a 431 has Server, Date"],
    "the web server waits for the whole body before the service sees the request": [
        "a body of over 1 MiB answers 413: declared and not sent", "a body of over 1 MiB answers 413: 10^15 bytes declared",
        "a 413 answers the client's own X-Request-Id", "a 413 has Server, Date"],
    "lighttpd answers 411 to a POST without a length": ["POST /products without a body or a length"],
    "lighttpd knows a fixed list of methods; Apache answers TRACE and CONNECT itself": [
        "FOO /", "TRACE ", "CONNECT with ", "no path and no method that a client makes up"],
    "Apache refuses a path that is malformed or leads above the root": [
        "GET /products/%00 ", "GET /products/<ID>%00 ", "GET /products/<ID>%00x", "GET /products/%zz",
        "GET /products/<ID>% ", "GET /%3 ", "GET <ABOVE>/", "GET /%2e%2e<ABOVE>/"],
    "Apache closes the connection after every 400": [
        "HEAD /categories?limit=0 ", "HEAD /products?q= ", "a connection stays open after 400"],
    "Apache notices a body cut off before the service does, and answers with a page of its own": [
        "a POST cut off is not acted on: one byte short, then the end of the client's side",
        "a POST cut off is not acted on: chunked without the last chunk, then the end of the client's side",
        "a PUT cut off is not acted on", "a PATCH cut off is not acted on"],
    "compression is the web server's to do or not": [
        "GET a list with Accept-Encoding: gzip", "GET /openapi.json with Accept-Encoding: gzip"],
    "how often an address may log in is counted by the web server": [
        "too many logins from one address"],
}


def is_own_part(name):
    return any(name.startswith(start) for starts in OWN_PART.values() for start in starts)


def unknown(names):
    """Lines of the table that are the beginning of no check: they went out of date."""
    return [start for starts in OWN_PART.values() for start in starts if not any(name.startswith(start) for name in names)]
