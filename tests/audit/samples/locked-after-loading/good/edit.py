def edit(cursor, locks, id, change):
    with locks.acquire("page", id):
        cursor.execute("SELECT body FROM page WHERE id = %s", (id,))
        body = change(cursor.fetchone()[0])
        cursor.execute("UPDATE page SET body = %s WHERE id = %s", (body, id))


def look_first(cursor, locks, id, change):
    cursor.execute("SELECT body FROM page WHERE id = %s", (id,))
    if cursor.fetchone() is None:
        return
    with locks.acquire("page", id):
        cursor.execute("SELECT body FROM page WHERE id = %s", (id,))
        cursor.execute("UPDATE page SET body = %s WHERE id = %s", (change(cursor.fetchone()[0]), id))


def find_key(cursor, locks, title, body):
    cursor.execute("SELECT id FROM page WHERE title = %s", (title,))
    id = cursor.fetchone()[0]
    with locks.acquire("page", id):
        cursor.execute("UPDATE page SET body = %s WHERE id = %s", (body, id))


def rename(locks, id, title):
    page = Page.objects.get(pk=id)
    locks.acquire("page", id)
    page.refresh_from_db()
    page.title = title
    page.save()


def mutex(self, cursor, id, change):
    cursor.execute("SELECT body FROM page WHERE id = %s", (id,))
    body = change(cursor.fetchone()[0])
    self._lock.acquire()
    cursor.execute("UPDATE page SET body = %s WHERE id = %s", (body, id))


def count(cursor, locks, id):
    cursor.execute("SELECT * FROM page WHERE id = %s", (id,))
    locks.acquire("page", id)
    cursor.execute("UPDATE page SET views = views + 1 WHERE id = %s", (id,))


def compared(cursor, locks, id, change):
    cursor.execute("SELECT body, title FROM page WHERE id = %s", (id,))
    body, title = cursor.fetchone()
    locks.acquire("page", id)
    cursor.execute("UPDATE page SET body = %s WHERE id = %s AND title = %s", (change(body), id, title))


def allowed(cursor, locks, id, body):
    cursor.execute("SELECT owner FROM page WHERE id = %s", (id,))
    if cursor.fetchone()[0] != me():
        raise Forbidden()
    with locks.acquire("page", id):
        cursor.execute("UPDATE page SET body = %s WHERE id = %s", (body, id))
