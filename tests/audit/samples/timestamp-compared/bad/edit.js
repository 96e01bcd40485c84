export async function edit(id, form) {
  const page = await pages.findOne(id);
  if (page.updatedAt.getTime() !== form.updatedAt.getTime()) {
    throw new Conflict();
  }
  await pages.save(Object.assign(page, form));
}
