def pay(cursor, ids):
    for id in ids:
        cursor.execute("SELECT balance FROM account WHERE id = %s FOR UPDATE", (id,))


def charge(cursor, id, invoice):
    cursor.execute("SELECT balance FROM account WHERE id = %s FOR UPDATE", (id,))
    cursor.execute("SELECT paid FROM invoice WHERE id = %s FOR UPDATE", (invoice,))


def refund(cursor, id, invoice):
    cursor.execute("SELECT paid FROM invoice WHERE id = %s FOR UPDATE", (invoice,))
    cursor.execute("SELECT balance FROM account WHERE id = %s FOR UPDATE", (id,))
