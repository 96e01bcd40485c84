@Entity("accounts")
export class Account {
  @PrimaryGeneratedColumn()
  id: number;

  @Column()
  balance: number;

  @VersionColumn()
  version: number;
}

export async function save(manager, id: number, balance: number) {
  await manager.query("UPDATE accounts SET balance = $1 WHERE id = $2", [balance, id]);
}
