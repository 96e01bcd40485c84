export async function edit(id, title) {
  const page = await pages.findOne(id);
  await locks.acquire('page', id);
  page.title = title;
  await pages.save(page);
}
