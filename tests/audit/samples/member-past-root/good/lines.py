def change(cursor, order, version, line, quantity):
    cursor.execute("UPDATE orders SET lock_version = lock_version + 1 WHERE id = %s AND lock_version = %s", (order, version))
    if cursor.rowcount != 1:
        raise Conflict(order)
    cursor.execute("UPDATE order_line SET quantity = %s WHERE id = %s", (quantity, line))
