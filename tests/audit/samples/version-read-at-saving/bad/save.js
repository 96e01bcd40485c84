export async function save(id, body) {
  const { rows } = await db.query('SELECT version FROM page WHERE id = $1', [id]);
  const saved = await db.query('UPDATE page SET body = $1, version = version + 1 WHERE id = $2 AND version = $3', [body, id, rows[0].version]);
  return saved.rowCount === 1;
}
