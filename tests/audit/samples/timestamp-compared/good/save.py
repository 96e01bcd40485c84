def save(cursor, page):
    cursor.execute("UPDATE page SET body = %s, updated_at = now() WHERE id = %s", page)


def old(cursor, day):
    cursor.execute("SELECT id FROM page WHERE updated_at = %s", day)
