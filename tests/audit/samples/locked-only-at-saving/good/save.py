def open_page(cursor, locks, request, id):
    locks.acquire("page", id, request.user)
    cursor.execute("SELECT title, body FROM page WHERE id = %s", (id,))
    return cursor.fetchone()


def save(cursor, locks, request, id):
    locks.acquire("page", id, request.user)
    cursor.execute("UPDATE page SET body = %s WHERE id = %s", (request.form["body"], id))


def post(cursor, id, state):
    cursor.execute("SELECT pg_advisory_xact_lock(%s) FROM page", (id,))
    cursor.execute("UPDATE page SET body = %s WHERE id = %s", (state, id))
