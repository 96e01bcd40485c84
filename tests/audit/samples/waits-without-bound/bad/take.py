def take(cursor, key):
    cursor.execute("SELECT pg_advisory_lock(%s)", (key,))
