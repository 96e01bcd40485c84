def save(cursor, account):
    cursor.execute("UPDATE account SET balance = %s WHERE id = %s AND version = %s", account.row())
    return cursor.rowcount == 1
