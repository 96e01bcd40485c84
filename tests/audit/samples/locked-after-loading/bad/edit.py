def edit(cursor, locks, id, change):
    cursor.execute("SELECT body FROM page WHERE id = %s", (id,))
    body = change(cursor.fetchone()[0])
    with locks.acquire("page", id):
        cursor.execute("UPDATE page SET body = %s WHERE id = %s", (body, id))


def rename(locks, id, title):
    page = Page.objects.get(pk=id)
    locks.acquire("page", id)
    page.title = title
    page.save()
