export async function pay(ids: number[]) {
  for (const id of ids) {
    await db.query('SELECT balance FROM account WHERE id = $1 FOR UPDATE', [id]);
  }
}
