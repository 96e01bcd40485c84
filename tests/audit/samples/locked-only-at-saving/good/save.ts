export async function save(dto: OfferDto, id: number, version: number): Promise<void> {
  await locks.acquire('offer', id);
  await this.check(id, version);
  await db.query('UPDATE offer SET body = $1 WHERE id = $2', [dto.body, id]);
}
