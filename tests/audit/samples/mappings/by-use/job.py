def save(cursor, job):
    cursor.execute("UPDATE job SET rev_ = %s, state_ = %s WHERE id_ = %s AND rev_ = %s", job)
    return cursor.rowcount == 1


def put(cursor, id, state):
    cursor.execute("UPDATE job SET state_ = %s WHERE id_ = %s", (state, id))
