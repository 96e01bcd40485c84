def save(cursor, id, body):
    cursor.execute("SELECT version FROM page WHERE id = %s", (id,))
    version = cursor.fetchone()[0]
    cursor.execute("UPDATE page SET body = %s, version = version + 1 WHERE id = %s AND version = %s", (body, id, version))
    return cursor.rowcount == 1
