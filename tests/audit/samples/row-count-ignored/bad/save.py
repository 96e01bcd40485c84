def save(cursor, account):
    cursor.execute("UPDATE account SET balance = ?, version = version + 1 WHERE id = ? AND version = ?", account.row())
