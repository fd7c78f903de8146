<?php
// The rules for bodies.
declare(strict_types=1);

const BODY_LIMIT = 1 << 20;

function is_between(mixed $value, int $minimum, int $maximum): bool
{
    return is_int($value) && $value >= $minimum && $value <= $maximum;
}

function is_text(mixed $value): bool
{
    return is_string($value) && preg_match('/^(?=.*\S).{1,200}$/Dsu', $value) === 1;
}

// What is wrong with the body, null when nothing is.
function product_fault(array $body): ?string
{
    return match (true) {
        !is_string($body['sku'] ?? null) || preg_match('/^[A-Za-z0-9._-]{1,64}$/D', $body['sku']) !== 1
            => 'sku must be 1 to 64 of A-Z a-z 0-9 . _ -',
        !is_text($body['name'] ?? null) => 'name must be 1 to 200 characters, not all blank',
        !is_between($body['price_cents'] ?? null, 0, 10 ** 12) => 'price_cents must be a whole number from 0 to 10^12',
        array_key_exists('stock', $body) && !is_between($body['stock'], 0, 10 ** 9)
            => 'stock must be a whole number from 0 to 10^9',
        !is_between($body['category_id'] ?? null, 1, PHP_INT_MAX) => 'category_id must be the id of a category',
        default => unknown_member($body, ['sku', 'name', 'price_cents', 'stock', 'category_id']),
    };
}

function deal_fault(array $body): ?string
{
    return match (true) {
        !is_text($body['title'] ?? null) => 'title must be 1 to 200 characters, not all blank',
        !is_between($body['amount_cents'] ?? null, 0, 10 ** 15) => 'amount_cents must be a whole number from 0 to 10^15',
        array_key_exists('status', $body) && !in_array($body['status'], ['open', 'won', 'lost'], true)
            => 'status must be open, won or lost',
        default => unknown_member($body, ['title', 'amount_cents', 'status']),
    };
}

function unknown_member(array $body, array $known): ?string
{
    $unknown = array_diff(array_keys($body), $known);
    return $unknown === [] ? null : 'the body has members that are not known here';
}
