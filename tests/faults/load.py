"""Load for the fault tests, and the ledger of what it was told."""
import random
import sqlite3
import threading
import time

from harness import expect, expect_equal, expect_problem, product, wait_until

DEMO_IDS = 12500
PAUSE_SECONDS = 0.002  # leaves the processors to the service: many short moments, not many requests


def in_parallel(count, work):
    """Runs work(number) in that many threads; returns what they returned, or raises what one of them raised."""
    results, errors = [], []

    def run(number):
        try:
            results.append(work(number))
        except Exception as error:
            errors.append(error)
    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


class Load:
    """Threads that write and read until they are told to stop.

        with Load(service, writers=8, readers=8) as load:
            … trouble …
        load.verify(service)

    Writers POST products with unique skus, DELETE some of them again, and send some that must be refused. Those
    who are `mixed` do as the benchmark's mix: of 100 requests 75 read, 20 create and 5 delete. What is not an
    answer they may get ends up in `complaints`. After a 503 to a write its fate is unknown. Without `keep` each
    request has a connection of its own."""

    def __init__(self, service, writers=8, readers=8, mark="load", keep=True, mixed=0):
        self.service, self.mark, self.keep = service, mark, keep
        self.kept = {}  # sku: the product as it was answered
        self.deleted, self.refused, self.unknown = set(), set(), set()  # skus
        self.made = {}  # client: skus it may delete, of those who are mixed
        self.complaints = []
        self.unavailable_sent = []  # when the requests were sent that 503 answered
        self.reads = self.writes = self.deletes = self.unavailable = 0
        self.reads_may_fail = False
        self.begun = set()  # threads that have had an answer
        self.ending = threading.Event()
        self.lock = threading.Lock()
        works = [self.write] * writers + [self.read] * readers + [self.mix] * mixed
        self.threads = [threading.Thread(target=self.run, args=(work, i), daemon=True) for i, work in enumerate(works)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        for thread in self.threads:
            thread.join(40)

    def run(self, work, number):
        client = self.service.client(self.keep)
        round_number = 0
        while not self.ending.is_set():
            round_number += 1
            try:
                work(client, "%s-%d-%d" % (self.mark, number, round_number), round_number)
            except Exception as error:
                with self.lock:
                    self.complaints.append("%s: %r" % (work.__name__, error))
                if len(self.complaints) > 20:
                    return
            self.begun.add(threading.get_ident())
            time.sleep(PAUSE_SECONDS)

    def read(self, client, sku, round_number):
        number = random.randint(1, DEMO_IDS)
        answer = client.get("/products/%d" % number)
        with self.lock:
            self.reads += 1
            if answer.status == 503:
                self.unavailable_sent.append(client.sent)
        if answer.status == 503 and self.reads_may_fail:
            expect_problem(answer, 503)
        elif number % 5 == 0:
            expect_problem(answer, 404)
        else:
            expect_equal(answer.status, 200, "a GET: %s" % answer)
            expect_equal(answer.json()["id"], number, "id of a GET")

    def write(self, client, sku, round_number):
        refuse = round_number % 10 == 0
        if self.create(client, sku, refuse) and round_number % 7 == 0:
            self.remove(client, sku)

    def mix(self, client, sku, round_number):
        dice, made = random.randrange(100), self.made.setdefault(client, [])
        if dice < 75:
            self.read(client, sku, round_number)
        elif dice < 95 or not made:
            if self.create(client, sku):
                made.append(sku)
        else:
            self.remove(client, made.pop(0))

    def create(self, client, sku, refuse=False):
        """Returns whether it was made."""
        answer = client.post("/products", product(sku, **({"price_cents": -1} if refuse else {})))
        with self.lock:
            self.writes += 1
            if answer.status == 503:
                self.unavailable += 1
                self.unavailable_sent.append(client.sent)
                if not refuse:
                    self.unknown.add(sku)
            elif answer.status == 201 and not refuse:
                self.kept[sku] = answer.json()
            elif 400 <= answer.status < 500:
                self.refused.add(sku)
        if answer.status == 503:
            expect_problem(answer, 503)
        else:  # a 409 would tell that the POST was carried out twice
            expect_equal(answer.status, 422 if refuse else 201, "a POST: %s" % answer)
        return answer.status == 201

    def remove(self, client, sku):
        with self.lock:
            row = self.kept.pop(sku)
            self.unknown.add(sku)
            self.deletes += 1
        answer = client.delete("/products/%d" % row["id"])
        if answer.status == 503:
            with self.lock:
                self.unavailable_sent.append(client.sent)
            expect_problem(answer, 503)
            return
        expect_equal(answer.status, 204, "a DELETE, 404 if it was carried out twice: %s" % answer)
        with self.lock:
            self.unknown.discard(sku)
            self.deleted.add(sku)

    def wait_begun(self):
        """Until every connection is in use: many at once wait for nginx to accept them."""
        wait_until(lambda: len(self.begun) == len(self.threads), 30, "every connection is in use")

    # -- afterwards

    def expect_mix(self):
        """The requests were of the mix, as closely as chance has it."""
        writes = self.writes + self.deletes
        share = writes / (self.reads + writes)
        expect(self.reads + writes > 3000 and 0.2 < share < 0.3 and self.deletes > 0.02 * writes,
               "no mix: %d reads, %d creates, %d deletes" % (self.reads, self.writes, self.deletes))

    def verify(self, service):
        """Every acknowledged write is there, over the wire and in the file, and nothing else."""
        expect(not self.complaints, "%d complaints, the first: %s" % (
            len(self.complaints), "; ".join(self.complaints[:3])))
        expect(self.kept, "the load got nothing written")
        self.verify_answers(service)
        self.verify_rows(service.database)

    def verify_answers(self, service):
        client = service.client()
        for sku, row in self.kept.items():
            answer = client.get("/products/%d" % row["id"])
            expect_equal(answer.status, 200, "GET of the acknowledged %s" % sku)
            expect_equal(answer.json(), row, "the acknowledged %s" % sku)

    def verify_rows(self, path):
        with sqlite3.connect(path) as database:
            expect_equal(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "integrity")
            rows = database.execute("SELECT sku FROM products WHERE sku LIKE ?", (self.mark + "-%",))
            there = {sku for sku, in rows}
        database.close()
        lost = set(self.kept) - there
        expect(not lost, "%d of %d acknowledged writes are lost: %s" % (
            len(lost), len(self.kept), sorted(lost)[:5]))
        expect(not self.refused & there, "answered with 4xx and yet there: %s" % sorted(self.refused & there))
        expect(not self.deleted & there, "acknowledged deletes undone: %s" % sorted(self.deleted & there))
        strange = there - set(self.kept) - self.unknown
        expect(not strange, "there though nobody was told: %s" % sorted(strange)[:5])
