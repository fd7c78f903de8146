// The rules for bodies, shared by the peers in JavaScript. A number without a fraction is an integer however it is
// written: JSON.parse() does not tell 1.0 from 1.

const isInteger = (value, minimum, maximum) => Number.isSafeInteger(value) && value >= minimum && value <= maximum;
const isText = value => typeof value === 'string' && value.trim() !== '' && value.length <= 400
    && (value.length <= 200 || [...value].length <= 200);

const productRules = {
    sku: [value => typeof value === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(value), '1 to 64 of A-Z a-z 0-9 . _ -'],
    name: [isText, '1 to 200 characters, not all blank'],
    price_cents: [value => isInteger(value, 0, 1e12), 'a whole number from 0 to 10^12'],
    stock: [value => value === undefined || isInteger(value, 0, 1e9), 'a whole number from 0 to 10^9'],
    category_id: [value => isInteger(value, 1, Number.MAX_SAFE_INTEGER), 'the id of a category'],
};

const dealRules = {
    title: [isText, '1 to 200 characters, not all blank'],
    amount_cents: [value => isInteger(value, 0, 1e15), 'a whole number from 0 to 10^15'],
    status: [value => value === undefined || value === 'open' || value === 'won' || value === 'lost', 'open, won or lost'],
};

// What is wrong with the body, null when nothing is.
function fault(body, rules) {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
        return 'the body must be an object';
    }
    for (const name in rules) {
        const [holds, wanted] = rules[name];
        if (!holds(body[name])) {
            return `${name} must be ${wanted}`;
        }
    }
    for (const name in body) {
        if (!Object.hasOwn(rules, name)) {
            return `${name} is not known here`;
        }
    }
    return null;
}

export const productFault = body => fault(body, productRules);
export const dealFault = body => fault(body, dealRules);

// The value of JSON text, undefined when it is not JSON.
export function parse(text) {
    try {
        return JSON.parse(text);
    } catch {
        return undefined;
    }
}
