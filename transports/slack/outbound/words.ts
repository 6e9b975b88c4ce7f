import { isJsonObject } from '../../../src/core/json.ts'

/** https://docs.slack.dev/reference/block-kit/blocks/markdown-block: 12,000 characters a message. */
export const LIMIT = 11_900
/** What wakes a whole channel, however its bracket is written; `if (!channel)` does not. */
const CALL = /(!(?<=(<|&lt;)[\s\\]*!)|@(?<![a-z0-9]@))(?=channel|everyone|here|group|subteam)/gi
const ZERO_WIDTH_SPACE = '\u200B'

/** Text that Slack shows as it is (https://docs.slack.dev/messaging/formatting-message-text#escaping). */
export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/**
 * The same markdown, which calls nobody but people: nobody should be able to make a bot wake a whole workspace. It
 * reads as before, also in code.
 */
export function quietMarkdown(markdown: string): string {
  return markdown.replaceAll(/&(?=#|excl;|commat;)/gi, '&amp;').replaceAll(CALL, `$&${ZERO_WIDTH_SPACE}`)
}

/**
 * The same blocks, in which nobody is called but people. What a skill shows in blocks is often what somebody wrote.
 * Dates (`<!date^…>`) call nobody.
 */
export function quietBlocks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(quietBlocks)
  if (!isJsonObject(value)) return value
  const { type, text, range, usergroup_id: group } = value
  // Rich text that calls somebody becomes one that only says so.
  if (type === 'broadcast' || type === 'usergroup') return { type: 'text', text: `@${range ?? group ?? ''}` }
  const quiet = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, quietBlocks(each)]))
  if (typeof text !== 'string') return quiet
  if (type === 'markdown') return { ...quiet, text: quietMarkdown(text) }
  return type === 'mrkdwn' ? { ...quiet, text: text.replaceAll(/<(?=\s*!(?!date\^))/g, '&lt;') } : quiet
}
