def save(cursor, locks, request, id):
    with locks.acquire("page", id):
        cursor.execute("UPDATE page SET body = %s WHERE id = %s", (request.form["body"], id))
