/** Slack advises 4,000 characters for the text of a message, and cuts off much longer ones. */
const LIMIT = 3900
const FENCE = '```'
/** A link or marked words on one line. What is longer is cut. */
const SPANS =
  /<[^<>\n]{1,2000}>|(?<![\p{L}\p{N}])([*_~`])(?=[^\s])[^\n]{0,500}?(?<=[^\s])\1(?![\p{L}\p{N}])/gu

/**
 * Splits mrkdwn into posts of at most `limit` characters: between paragraphs where it can, else between lines, else
 * between sentences or words, but not inside a link or marked words. Code that is cut is closed and opened again, so
 * that every part stands alone.
 */
export function splitText(text: string, limit = LIMIT): string[] {
  const parts: string[] = []
  let rest = text
  while (rest.length > limit) {
    const room = limit - 2 * FENCE.length - 2
    const { part, following } = cut(rest, cutOf(rest, room))
    parts.push(part)
    rest = following
  }
  if (rest.trim() !== '' || parts.length === 0) parts.push(rest)
  return parts
}

/** Leaves no code block empty: neither one that ends where it is cut, nor one that begins there. */
function cut(text: string, at: number): { part: string; following: string } {
  const part = text.slice(0, at).trimEnd()
  const following = withoutGap(text.slice(at))
  const isInCode = part.split(FENCE).length % 2 === 0
  if (!isInCode) return { part, following }
  if (following.startsWith(FENCE)) {
    return { part: `${part}\n${FENCE}`, following: withoutGap(following.slice(FENCE.length)) }
  }
  const before = part.slice(0, -FENCE.length).trimEnd()
  if (part.endsWith(FENCE) && before !== '') return { part: before, following: `${FENCE}\n${following}` }
  return { part: `${part}\n${FENCE}`, following: `${FENCE}\n${following}` }
}

function cutOf(text: string, room: number): number {
  const spans = spansIn(text.slice(0, room + 2500))
  for (const [separator, least] of [
    ['\n\n', 0.5],
    ['\n', 0.3],
    ['. ', 0.3],
    [' ', 0.1],
  ] as const) {
    let found = text.lastIndexOf(separator, room - separator.length)
    while (found > room * least) {
      const at = found + separator.length
      const around = spans.find(({ start, end }) => start < at && at < end)
      if (!around) return at
      found = around.start === 0 ? -1 : text.lastIndexOf(separator, around.start - 1)
    }
  }
  // Never between the halves of a character, nor inside an entity or a link.
  const open = Math.max(text.lastIndexOf('<', room), text.lastIndexOf('&', room))
  if (open > Math.max(room - 500, room / 2) && !/[>;]/.test(text.slice(open, room))) return open
  const code = text.charCodeAt(room - 1)
  return code >= 0xd800 && code <= 0xdbff ? room - 1 : room
}

function spansIn(text: string): { start: number; end: number }[] {
  return [...text.matchAll(SPANS)].map(({ index, 0: { length } }) => ({ start: index, end: index + length }))
}

function withoutGap(text: string): string {
  return text.replace(/^\n+/, '')
}
