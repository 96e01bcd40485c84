def change(cursor, line, quantity):
    cursor.execute("UPDATE order_line SET quantity = %s WHERE id = %s", (quantity, line))
