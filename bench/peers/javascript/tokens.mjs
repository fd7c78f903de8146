// Verifies bearer tokens (RFC 7519, HS256), shared by the peers in JavaScript.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from './bodies.mjs';

const LEEWAY = 30; // seconds by which clocks may differ
const REFUSED = ['crit', 'jwk', 'jku', 'x5u', 'x5c'];

const [kid, secret] = readFileSync(process.env.SECRET_FILE, 'utf8').split('\n')[0].split(' ');

const decode = segment => parse(Buffer.from(segment, 'base64url').toString()) ?? {};

function isSigned(input, signature) {
    const expected = Buffer.from(createHmac('sha256', secret).update(input).digest('base64url'));
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
}

const isOurs = header => header.alg === 'HS256' && (header.kid === undefined || header.kid === kid)
    && !REFUSED.some(name => Object.hasOwn(header, name));

const isPast = (time, now) => time === undefined || Number.isSafeInteger(time) && time <= now + LEEWAY;

// The user's id from an Authorization header, 0 when it holds no valid token.
export function userOf(authorization) {
    const [, token] = /^bearer +([\w.-]{1,4096})$/i.exec(authorization ?? '') ?? [];
    const segments = token?.split('.');
    if (segments?.length !== 3 || !isSigned(`${segments[0]}.${segments[1]}`, segments[2]) || !isOurs(decode(segments[0]))) {
        return 0;
    }
    const { sub, exp, nbf, iat } = decode(segments[1]);
    const now = Math.floor(Date.now() / 1000);
    return Number.isSafeInteger(exp) && now - LEEWAY < exp && isPast(nbf, now) && isPast(iat, now)
        && typeof sub === 'string' && /^[1-9][0-9]{0,14}$/.test(sub) ? Number(sub) : 0;
}
