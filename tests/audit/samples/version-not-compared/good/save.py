def save(cursor, account):
    cursor.execute(
        "UPDATE account SET balance = %s, version = version + 1 WHERE id = %s AND version = %s",
        (account.balance, account.id, account.version),
    )
    if cursor.rowcount != 1:
        raise Conflict(account)


def deposit(cursor, account, amount):
    cursor.execute("UPDATE account SET balance = balance + %s WHERE id = %s", (amount, account.id))


def close(cursor, account):
    cursor.execute("UPDATE account SET balance = 0 WHERE id = 17")


def dynamic(cursor, condition, balance):
    cursor.execute("UPDATE account SET balance = %s WHERE " + condition, (balance,))


def more(cursor, account, condition):
    sql = "UPDATE account SET balance = %s, version = version + 1 WHERE id = %s"
    if condition:
        sql += " AND version = %s"
    cursor.execute(sql)
    return cursor.rowcount


def other_table(cursor, name):
    cursor.execute("UPDATE customer SET name = %s WHERE id = 1", (name,))


def claim(cursor, account, owner):
    cursor.execute("UPDATE account SET owner = %s WHERE id = %s AND (owner IS NULL OR owner = 'nobody')", (owner, account.id))
