// The writes of a thread: they wait until its turn of the event loop ends, and are then committed in one transaction, or
// (GROUP_COMMIT=0) each in its own, one a turn. Their answers leave after the commit.
//
// The threads take turns with a lock they share, rather than run into SQLite's, which would sleep and try again. It is
// waited for without stopping the thread: it goes on reading, and its next group is the larger for it.

const FREE = 0, TAKEN = 1;

// lock is one Int32 in shared memory. The result is write(run, answer): run() does the work and returns the reply, which
// answer(reply) sends; answer(null) says that it was not committed.
export function makeWriter(db, lock, grouped) {
    const begin = db.prepare('BEGIN IMMEDIATE'), commit = db.prepare('COMMIT');
    const waiting = [];

    function transact(writes) {
        const several = writes.length > 1; // one is a transaction by itself
        try {
            if (several) {
                begin.run();
            }
            const replies = writes.map(({ run }) => run());
            if (several) {
                commit.run();
            }
            return replies;
        } catch (error) {
            console.error(error);
            if (db.isTransaction) {
                db.exec('ROLLBACK');
            }
            return writes.map(() => null);
        }
    }

    function flush() {
        if (Atomics.compareExchange(lock, 0, FREE, TAKEN) !== FREE) {
            const { async, value } = Atomics.waitAsync(lock, 0, TAKEN);
            (async ? value : Promise.resolve()).then(flush);
            return;
        }
        const writes = waiting.splice(0, grouped ? waiting.length : 1);
        const replies = transact(writes);
        Atomics.store(lock, 0, FREE);
        Atomics.notify(lock, 0);
        writes.forEach(({ answer }, i) => answer(replies[i]));
        if (waiting.length > 0) {
            setImmediate(flush);
        }
    }

    return function write(run, answer) {
        if (waiting.push({ run, answer }) === 1) {
            setImmediate(flush);
        }
    };
}
