def pay(cursor, ids):
    for id in sorted(ids):
        cursor.execute("SELECT balance FROM account WHERE id = %s FOR UPDATE", (id,))


def each_alone(cursor, connection, ids):
    for id in ids:
        cursor.execute("SELECT balance FROM account WHERE id = %s FOR UPDATE", (id,))
        connection.commit()


def again(cursor, id):
    while True:
        cursor.execute("SELECT balance FROM account WHERE id = %s FOR UPDATE", (id,))
        if cursor.fetchone():
            return


def tried(cursor, ids):
    for id in ids:
        cursor.execute("SELECT balance FROM account WHERE id = %s FOR UPDATE NOWAIT", (id,))


def charge(cursor, id, invoice):
    cursor.execute("SELECT balance FROM account WHERE id = %s FOR UPDATE", (id,))
    cursor.execute("SELECT paid FROM invoice WHERE id = %s FOR UPDATE", (invoice,))


def refund(cursor, connection, id, invoice):
    cursor.execute("SELECT paid FROM invoice WHERE id = %s FOR UPDATE", (invoice,))
    connection.commit()
    cursor.execute("SELECT balance FROM account WHERE id = %s FOR UPDATE", (id,))


def one_at_a_time(locks, ids):
    for id in ids:
        with locks.acquire("account", id):
            post(id)


def in_its_own(cursor, ids):
    for id in ids:
        with transaction.atomic():
            cursor.execute("SELECT balance FROM account WHERE id = %s FOR UPDATE", (id,))
