export async function save(id: number, body, version) {
  const saved = await db.query('UPDATE page SET body = $1, version = version + 1 WHERE id = $2 AND version = $3', [body, id, version]);
  if (saved.rowCount !== 1) {
    const { rows } = await db.query('SELECT version FROM page WHERE id = $1', [id]);
    throw new Conflict(rows[0].version);
  }
}
