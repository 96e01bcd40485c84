def edit(cursor, account):
    cursor.execute("UPDATE account SET balance = %s, version = version + 1 WHERE id = %s AND version = %s", account)
    return cursor.rowcount == 1


def post(cursor, id, amount):
    cursor.execute("SELECT balance FROM account WHERE id = %s FOR UPDATE", (id,))
    balance = cursor.fetchone()[0] + amount
    cursor.execute("UPDATE account SET balance = %s, version = version + 1 WHERE id = %s", (balance, id))
