/**
 * What a command prints for people: data goes to stdout, and notes about it (hints, how to see the
 * rest, that there is nothing) go to stderr, so that a pipe gets nothing but rows.
 */
export type Printed = { text: string; notes: readonly string[] }

/** A text without notes, or with them. */
export type Printable = string | Printed

/** A text with notes. Without notes, the text alone. */
export function withNotes(printable: Printable, ...notes: readonly string[]): Printable {
  const { text, notes: own } = printed(printable)
  const all = [...own, ...notes]
  return all.length === 0 ? text : { text, notes: all }
}

/** Notes without data: `No messages.` */
export function noData(...notes: readonly string[]): Printed {
  return { text: '', notes }
}

export function printed(printable: Printable): Printed {
  return typeof printable === 'string' ? { text: printable, notes: [] } : printable
}

/** Data and notes in one text. */
export function wholeText(printable: Printable): string {
  const { text, notes } = printed(printable)
  return (text === '' ? notes : [text, ...notes]).join('\n')
}
