export async function save(db: Db, id: number, balance: number, version: number): Promise<boolean> {
  const done = await db.query(
    "UPDATE account SET balance = $1, version = version + 1 WHERE id = $2 AND version = $3 RETURNING id",
    [balance, id, version]);
  return done.rows.length === 1;
}
