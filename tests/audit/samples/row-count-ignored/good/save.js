async function save(db, row) {
  const [result] = await db.query("UPDATE account SET balance = ?, version = version + 1 WHERE id = ? AND version = ?", row);
  return result.affectedRows === 1;
}
