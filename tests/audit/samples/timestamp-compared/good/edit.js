export function latest(one, two) {
  if (one.updatedAt < two.updatedAt) {
    return two;
  }
  return one;
}
