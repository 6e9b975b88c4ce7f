/** Characters that no shell interprets. */
const PLAIN = /^[\w@%+=:,./-]+$/

/**
 * A command in backticks, as one can paste it into a shell: `trivium route resume 'late orders'`.
 * `words`: the command. `values`: names and ids, which are quoted if they need it.
 */
export function commandText(words: string, ...values: unknown[]): string {
  return `\`${['trivium', words, ...values.map(shellWord)].join(' ')}\``
}

/** A value as one word of a shell. */
export function shellWord(value: unknown): string {
  const text = String(value)
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
