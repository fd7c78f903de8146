// What paths, queries and the clock say, shared by the peers in JavaScript.

// An id in a path; 0, which no row has, when it is not one.
export const toId = text => /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : 0;

// A whole number of a query, the standard one when it is not given, null when it is out of range.
export function toInteger(text, minimum, maximum, standard) {
    if (text === null || text === undefined) {
        return standard;
    }
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : -1;
    return value >= minimum && value <= maximum ? value : null;
}

// How many rows /queries is asked for.
export const clampQueries = text => Math.min(Math.max(Math.trunc(Number(text)) || 1, 1), 500);

export const randomId = () => Math.floor(Math.random() * 10000) + 1;

export const now = () => new Date().toISOString().slice(0, 19) + 'Z';
