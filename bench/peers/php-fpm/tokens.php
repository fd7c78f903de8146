<?php
// Verifies bearer tokens (RFC 7519, HS256).
declare(strict_types=1);

const LEEWAY = 30; // seconds by which clocks may differ
const REFUSED = ['crit', 'jwk', 'jku', 'x5u', 'x5c'];

function base64url(string $bytes): string
{
    return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
}

function decode(string $segment): array
{
    $value = json_decode((string) base64_decode(strtr($segment, '-_', '+/')), true);
    return is_array($value) ? $value : [];
}

function is_past(mixed $time, int $now): bool
{
    return is_int($time) && $time <= $now + LEEWAY;
}

// The user's id from an Authorization header, 0 when it holds no valid token.
function user_of(string $authorization): int
{
    if (preg_match('/^bearer +([\w-]+)\.([\w-]+)\.([\w-]+)$/Di', $authorization, $parts) !== 1
        || strlen($authorization) > 4096) {
        return 0;
    }
    [, $header, $claims, $signature] = $parts;
    [$kid, $secret] = explode(' ', rtrim(file(getenv('SECRET_FILE'))[0], "\n"));
    if (!hash_equals(base64url(hash_hmac('sha256', "$header.$claims", $secret, true)), $signature)) {
        return 0;
    }
    $header = decode($header);
    if (($header['alg'] ?? null) !== 'HS256' || ($header['kid'] ?? $kid) !== $kid
        || array_intersect_key($header, array_flip(REFUSED)) !== []) {
        return 0;
    }
    $claims = decode($claims);
    $now = time();
    return is_int($claims['exp'] ?? null) && $now - LEEWAY < $claims['exp'] && is_past($claims['nbf'] ?? $now, $now)
        && is_past($claims['iat'] ?? $now, $now) && is_string($claims['sub'] ?? null)
        && preg_match('/^[1-9][0-9]{0,17}$/D', $claims['sub']) === 1 ? (int) $claims['sub'] : 0;
}
