export async function save(job) {
  const lock = await locks.acquire('product', job.id);
  await db.query('UPDATE product SET body = $1 WHERE id = $2', [job.result, job.id]);
  await lock.release();
}
