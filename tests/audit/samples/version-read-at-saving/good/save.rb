class Editor
  def save(id, body, version)
    db.execute("UPDATE page SET body = ?, version = version + 1 WHERE id = ? AND version = ?", [body, id, version])
    raise Conflict if db.changes != 1
  end
end
