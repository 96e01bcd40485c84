export async function edit(id: number, title) {
  await locks.acquire('page', id);
  const page = await pages.findOne(id);
  page.title = title;
  await pages.save(page);
}

export async function released(id: number, title) {
  const page = await pages.findOne(id);
  const lock = await locks.acquire('log', id);
  await lock.release();
  page.title = title;
  await pages.save(page);
}
