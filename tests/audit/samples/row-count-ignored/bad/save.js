async function save(db, row) {
  await db.query("UPDATE account SET balance = ?, version = version + 1 WHERE id = ? AND version = ?", row);
}
