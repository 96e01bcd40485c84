export async function save(db, id, balance) {
  await db.query("UPDATE account SET balance = $1 WHERE id = $2", [balance, id]);
}

export const list = (db, id, balance) =>
  db.query(["UPDATE account", "SET balance = ?", "WHERE id = ?"].join(" "), [balance, id]);
