/** Maximum characters of a title. */
const MAX_TITLE = 120

/** The beginning of a text, in one line. */
export function shortTitle(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1)}…` : line
}
