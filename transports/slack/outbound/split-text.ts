/** Slack advises 4,000 characters for the text of a message, and cuts off much longer ones. */
const LIMIT = 3900
const FENCE = '```'

/**
 * Splits mrkdwn into posts of at most `limit` characters: between paragraphs where it can, else between lines, else
 * between words. Code that is cut is closed and opened again, so that every part stands alone.
 */
export function splitText(text: string, limit = LIMIT): string[] {
  const parts: string[] = []
  let rest = text
  while (rest.length > limit) {
    const room = limit - 2 * FENCE.length - 2
    const at = cutOf(rest, room)
    const piece = rest.slice(0, at)
    const inCode = piece.split(FENCE).length % 2 === 0
    parts.push(inCode ? `${piece.trimEnd()}\n${FENCE}` : piece.trimEnd())
    const following = rest.slice(at).replace(/^\n+/, '')
    rest = inCode ? `${FENCE}\n${following}` : following
  }
  if (rest.trim() !== '' || parts.length === 0) parts.push(rest)
  return parts
}

function cutOf(text: string, room: number): number {
  for (const [separator, least] of [
    ['\n\n', 0.5],
    ['\n', 0.3],
    ['. ', 0.3],
    [' ', 0.1],
  ] as const) {
    const found = text.lastIndexOf(separator, room - separator.length)
    if (found > room * least) return found + separator.length
  }
  // Never between the halves of a character, nor inside an entity or a link.
  const open = Math.max(text.lastIndexOf('<', room), text.lastIndexOf('&', room))
  if (open > Math.max(room - 500, room / 2) && !/[>;]/.test(text.slice(open, room))) return open
  const code = text.charCodeAt(room - 1)
  return code >= 0xd800 && code <= 0xdbff ? room - 1 : room
}
