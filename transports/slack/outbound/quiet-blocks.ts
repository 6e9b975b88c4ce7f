import { isJsonObject, type Json } from '../../../src/core/json.ts'

/**
 * The same blocks, in which nobody is called but people and channels: `<!channel>`, `<!here>`, `<!everyone>` and user
 * groups are shown as text. What a skill shows in blocks is often what somebody wrote. Dates (`<!date^…>`) call nobody.
 */
export function quietBlocks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(quietBlocks)
  if (!isJsonObject(value)) return value
  const { type, range, usergroup_id: group } = value
  if (type === 'broadcast') return asText(range)
  if (type === 'usergroup') return asText(group)
  const isMarkup = type === 'mrkdwn' || type === 'markdown'
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      isMarkup && key === 'text' && typeof each === 'string' ? quietText(each) : quietBlocks(each),
    ]),
  )
}

function quietText(text: string): string {
  return text.replaceAll(/<(?=\s*!(?!date\^))/g, '&lt;')
}

/** An element of rich text that calls somebody, as one that only says so. */
function asText(whom: Json | undefined) {
  return { type: 'text', text: `@${typeof whom === 'string' ? whom : ''}` }
}
