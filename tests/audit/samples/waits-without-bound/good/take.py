def take(cursor, key):
    cursor.execute("SELECT pg_try_advisory_lock(%s)", (key,))
