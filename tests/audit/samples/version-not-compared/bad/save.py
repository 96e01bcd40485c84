def save(cursor, account):
    cursor.execute("UPDATE account SET balance = %s WHERE id = %s", (account.balance, account.id))


def save_some(cursor, table_row, changes):
    sql = "UPDATE account SET "
    sql += "balance = %s, version = version + 1 "
    sql += "WHERE id = %s"
    cursor.execute(sql, (changes, table_row))
