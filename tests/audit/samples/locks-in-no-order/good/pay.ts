export async function pay(ids: number[]) {
  for (const id of [...ids].sort()) {
    await db.query('SELECT balance FROM account WHERE id = $1 FOR UPDATE', [id]);
  }
}

export async function each(ids: number[]) {
  for (const id of ids) {
    const lock = await redlock.acquire([`account:${id}`], 1000);
    try {
      await post(id);
    } finally {
      await lock.release();
    }
  }
}

export async function inside(ids: number[]) {
  for (const id of ids) {
    await locks.acquire('account', id, async () => post(id));
  }
}
