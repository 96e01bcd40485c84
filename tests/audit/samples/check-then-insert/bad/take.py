def take(cursor, page, user):
    cursor.execute("SELECT user_id FROM page_lock WHERE page = %s", (page,))
    if cursor.fetchone():
        raise Locked(page)
    cursor.execute("INSERT INTO page_lock (page, user_id, expires_at) VALUES (%s, %s, %s)", (page, user, later()))
