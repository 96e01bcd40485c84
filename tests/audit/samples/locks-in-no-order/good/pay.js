export async function pay(ids) {
  for (const id of [...ids].sort()) {
    await db.query('SELECT balance FROM account WHERE id = $1 FOR UPDATE', [id]);
  }
}
