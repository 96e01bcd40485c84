def open_note(cursor, id):
    cursor.execute("SELECT body FROM note WHERE id = %s FOR UPDATE", (id,))
    return cursor.fetchone()


def save(cursor, locks, id, body):
    locks.acquire("note", id)
    cursor.execute("UPDATE note SET body = %s WHERE id = %s", (body, id))


def shorten(cursor, id, body):
    cursor.execute("UPDATE note SET body = %s WHERE id = %s", (body[:100], id))


def give_back(cursor, id, owner):
    cursor.execute("DELETE FROM app_lock WHERE resource = %s AND owner = %s", (id, owner))
