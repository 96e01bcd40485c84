def save(cursor, page):
    cursor.execute("UPDATE page SET body = %s, updated_at = now() WHERE id = %s AND updated_at = %s", page)
    return cursor.rowcount == 1
