/** Maximum characters of the text. */
const LONGEST = 120
/** Fields of a JSON answer that say what is wrong. */
const FIELDS = ['message', 'error', 'detail', 'title', 'reason', 'error_description', 'description']

/**
 * What the body of a failed answer says: its first line, or the error in its JSON. Empty for HTML,
 * and for JSON without an error.
 */
export function answerText(body: string): string {
  const text = body.trim()
  const said = /^[[{]/.test(text) ? errorIn(parsed(text)) : text.startsWith('<') ? undefined : text
  const [line = ''] = (said ?? '').trim().split('\n')
  const short = line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line
  return short.replace(/[.\s]+$/, '')
}

/** Undefined if it is not JSON, for example because it was cut. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function errorIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return undefined
  const fields = new Map<string, unknown>(Object.entries(value))
  for (const field of FIELDS) {
    const found = errorIn(fields.get(field))
    if (found !== undefined) return found
  }
  return undefined
}
