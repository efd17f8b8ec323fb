/** A count with its noun, for what is told in English: `1 message`, `2 messages`. Texts of locale files have their own singular. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
