def save(cursor, id, body, version):
    cursor.execute("UPDATE page SET body = %s, version = version + 1 WHERE id = %s AND version = %s", (body, id, version))
    return cursor.rowcount == 1


def change(cursor, id, edit):
    cursor.execute("SELECT body, version FROM page WHERE id = %s", (id,))
    body, read = cursor.fetchone()
    cursor.execute("UPDATE page SET body = %s, version = version + 1 WHERE id = %s AND version = %s", (edit(body), id, read))
    return cursor.rowcount == 1


def checked(cursor, id, body, form):
    cursor.execute("SELECT version FROM page WHERE id = %s", (id,))
    now = cursor.fetchone()[0]
    if now != form.version:
        raise Conflict(id)
    cursor.execute("UPDATE page SET body = %s, version = version + 1 WHERE id = %s AND version = %s", (body, id, now))
    return cursor.rowcount == 1


def told(cursor, id, form):
    cursor.execute("SELECT version FROM page WHERE id = %s", (id,))
    log(cursor.fetchone())
    cursor.execute("UPDATE page SET body = %s, version = version + 1 WHERE id = %s AND version = %s", (form.body, id, form.version))
    return cursor.rowcount == 1
