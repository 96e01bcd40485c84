export async function save(prisma, id, balance) {
  await prisma.$executeRaw`UPDATE accounts SET balance = ${balance} WHERE id = ${id}`;
}
