/** The word before a UUID: `dead-letters-` of a job, `outbox:` of an unsent reply. */
const WORD = /^[a-z-]+[-:](?=[0-9a-f]{8}-)/i

/** Whether an id begins or ends with a part, or begins with it after its word. Ignores the case. */
export function isPartOfId(id: string, part: string): boolean {
  const [whole, text] = [id.toLowerCase(), part.toLowerCase()]
  return whole.startsWith(text) || whole.endsWith(text) || whole.replace(WORD, '').startsWith(text)
}
