def change(cursor, connection, id, edit):
    cursor.execute("SELECT body FROM note WHERE id = %s FOR UPDATE", (id,))
    cursor.execute("UPDATE note SET body = %s WHERE id = %s", (edit(cursor.fetchone()), id))
    connection.commit()


def logout(cursor, owner):
    cursor.execute("DELETE FROM app_lock WHERE owner = %s", (owner,))
