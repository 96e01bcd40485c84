def take(cursor, ids):
    cursor.execute("SELECT * FROM account WHERE id IN %s ORDER BY id FOR UPDATE", (ids,))


def one(cursor, id):
    cursor.execute("SELECT * FROM account WHERE id = %s FOR UPDATE", (id,))
