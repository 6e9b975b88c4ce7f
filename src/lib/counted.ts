/** A count with its noun: `1 message`, `2 messages`, `1 reply`, `2 replies`. */
export function counted(count: unknown, one: string, many = `${one}s`): string {
  return `${count} ${Number(count) === 1 ? one : many}`
}
