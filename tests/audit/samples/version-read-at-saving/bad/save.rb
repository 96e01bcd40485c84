class Editor
  def save(id, body)
    now = db.get_first_value("SELECT version FROM page WHERE id = ?", id)
    db.execute("UPDATE page SET body = ?, version = version + 1 WHERE id = ? AND version = ?", [body, id, now])
    raise Conflict if db.changes != 1
  end
end
