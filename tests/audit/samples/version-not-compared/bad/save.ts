export class Accounts {
  async save(id: number, balance: number): Promise<void> {
    await this.db.execute(sql`UPDATE account SET balance = ${balance} WHERE id = ${id}`);
  }
}
