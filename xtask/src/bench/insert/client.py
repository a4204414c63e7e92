"""Inserts of the Insert Benchmark as a client in Python makes them: a statement of many rows, put together as text, by the usual driver.

client.py --dialect postgres --socket PATH --user USER --database NAME --tables N --rows N [--clients N] [--seed N]

Each client is a process with a table and a connection of its own, and inserts as many rows."""

import argparse
import base64
import datetime
import multiprocessing
import os
import random

ROWS_OF_STATEMENT = 50
INSERT = "INSERT INTO {} (dateandtime, cashregisterid, customerid, productid, price, data) VALUES "


def connect(args):
    if args.dialect == "postgres":
        import psycopg2

        directory, name = os.path.split(args.socket)
        connection = psycopg2.connect(
            host=directory, port=int(name.rsplit(".", 1)[1]), user=args.user, dbname=args.database
        )
        connection.autocommit = True
    else:
        import MySQLdb

        connection = MySQLdb.connect(unix_socket=args.socket, user=args.user, db=args.database)
        connection.autocommit(True)
    return connection


class Rows:
    """Rows of random values; three eighths of the letters are random."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        letters = base64.b64encode(self.random.randbytes(3 << 20))
        self.letters = letters.decode("ascii")

    def data(self):
        length = self.random.randint(10, 20)
        drawn = int(length * 0.375)
        start = self.random.randrange(len(self.letters) - drawn)
        return "a" * (length - drawn) + self.letters[start : start + drawn]

    def one(self, now):
        draw = self.random.randrange
        return "('%s', %d, %d, %d, %.2f, '%s')" % (
            now, draw(1000), draw(100000), draw(10000), draw(500), self.data()
        )

    def statement(self, table, count):
        now = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        return INSERT.format(table) + ",".join(self.one(now) for _ in range(count))


def insert(args, client):
    connection = connect(args)
    cursor = connection.cursor()
    rows = Rows(args.seed + client)
    table = "pi%d" % (client % args.tables + 1)
    left = args.rows // args.clients
    while left > 0:
        count = min(left, ROWS_OF_STATEMENT)
        cursor.execute(rows.statement(table, count))
        left -= count
    connection.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dialect", choices=["postgres", "mysql"], required=True)
    for name in ("--socket", "--user", "--database"):
        parser.add_argument(name, required=True)
    for name, default in (("--tables", 1), ("--rows", 1), ("--clients", 1), ("--seed", 1)):
        parser.add_argument(name, type=int, default=default)
    args = parser.parse_args()
    clients = [multiprocessing.Process(target=insert, args=(args, client)) for client in range(args.clients)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    if any(client.exitcode != 0 for client in clients):
        raise SystemExit("a client failed")


main()
