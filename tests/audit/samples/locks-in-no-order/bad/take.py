def take(cursor, ids):
    cursor.execute("SELECT * FROM account WHERE id IN %s FOR UPDATE", (ids,))
