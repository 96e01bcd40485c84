export function latest(one: Page, two: Page) {
  if (one.updatedAt < two.updatedAt) {
    return two;
  }
  return one;
}
