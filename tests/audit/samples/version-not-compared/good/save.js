export async function save(db, id, balance, version) {
  const sql = `UPDATE account SET balance = $1, version = version + 1
    WHERE id = $2 AND version = $3`;
  const result = await db.query(sql, [balance, id, version]);
  if (result.rowCount !== 1) throw new Conflict(id);
}
