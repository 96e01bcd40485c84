export async function save(req, res) {
  const lock = await locks.acquire('product', req.params.id);
  await db.query('UPDATE product SET body = $1 WHERE id = $2', [req.body.body, req.params.id]);
  await lock.release();
}
