// Drafters in the order in which they were first seen: a drafter keeps its colour.
export const proposers = [];
export function proposerIndex(name) {
  if (!name) return 0;
  if (!proposers.includes(name)) proposers.push(name);
  return proposers.indexOf(name) + 1;
}
