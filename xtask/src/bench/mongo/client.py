"""Commands of the bench as a client in Python makes them, by the usual driver.

client.py --socket PATH --database NAME --case insert|find-one|find-ten --events N [--documents N] [--seed N]"""

import argparse
import base64
import datetime
import random
import urllib.parse

import pymongo


class Documents:
    """Documents of random values; three eighths of the letters are random."""

    def __init__(self, seed, first):
        self.random = random.Random(seed)
        self.letters = base64.b64encode(self.random.randbytes(3 << 20)).decode("ascii")
        self.next = first

    def data(self):
        length = self.random.randint(10, 20)
        drawn = int(length * 0.375)
        start = self.random.randrange(len(self.letters) - drawn)
        return "a" * (length - drawn) + self.letters[start : start + drawn]

    def one(self, now):
        draw = self.random.randrange
        self.next += 1
        return {
            "_id": self.next, "dateandtime": now, "cashregisterid": draw(1000), "customerid": draw(100000),
            "productid": draw(10000), "price": draw(500), "data": self.data(),
        }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    parser.add_argument("--database", required=True)
    parser.add_argument("--case", required=True)
    parser.add_argument("--events", type=int, required=True)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    client = pymongo.MongoClient("mongodb://" + urllib.parse.quote(args.socket, safe=""), directConnection=True)
    collection = client[args.database]["pi1"]
    # Runs of one seed differ by their length, and must not insert the same documents.
    made = Documents(args.seed, ((args.seed << 24) + args.events) << 24)
    draw = made.random.randrange
    done = 0
    for _ in range(args.events):
        if args.case == "insert":
            now = datetime.datetime.now()
            batch = [made.one(now) for _ in range(100)]
            done += len(collection.insert_many(batch, ordered=True).inserted_ids)
        elif args.case == "find-one":
            done += collection.find_one({"_id": 1 + draw(args.documents)}, {"_id": 0, "data": 1}) is not None
        else:
            found = collection.find({"price": {"$gte": draw(2)}}, {"_id": 0, "price": 1, "dateandtime": 1, "customerid": 1})
            found = found.sort([("price", 1), ("dateandtime", 1), ("customerid", 1)]).limit(10).hint("pdc")
            done += len(list(found)) == 10
    expected = args.events * (100 if args.case == "insert" else 1)
    assert done == expected, (done, expected)


main()
