import { isJsonObject } from '../../../src/core/json.ts'

/**
 * Slightly less than Slack's limit of 12,000 characters per message:
 * https://docs.slack.dev/reference/block-kit/blocks/markdown-block
 */
export const MAX_MARKDOWN = 11_900
/**
 * The start of a mention of a whole channel or group, in any notation of the bracket; `if
 * (!channel)` is not one.
 */
const GROUP_MENTION = /(!(?<=(<|&lt;)[\s\\]*!)|@(?<![a-z0-9]@))(?=channel|everyone|here|group|subteam)/gi
const ZERO_WIDTH_SPACE = '\u200B'

/**
 * Escapes text so that Slack shows it literally
 * (https://docs.slack.dev/messaging/formatting-message-text#escaping).
 */
export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/**
 * Disables mentions of channels and groups in Markdown, so that no sender can make a bot notify a
 * whole workspace. The text looks the same, also in code.
 */
export function withoutGroupMentions(markdown: string): string {
  return markdown
    .replaceAll(/&(?=#|excl;|commat;)/gi, '&amp;')
    .replaceAll(GROUP_MENTION, `$&${ZERO_WIDTH_SPACE}`)
}

/**
 * Disables such mentions in blocks: their text often comes from senders. Dates (`<!date^…>`) stay.
 */
export function blocksWithoutGroupMentions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(blocksWithoutGroupMentions)
  if (!isJsonObject(value)) return value
  const { type, text, range, usergroup_id: group } = value
  // A mention element becomes its text.
  if (type === 'broadcast' || type === 'usergroup') return { type: 'text', text: `@${range ?? group ?? ''}` }
  const fields = Object.entries(value).map(([key, each]) => [key, blocksWithoutGroupMentions(each)])
  const block = Object.fromEntries(fields)
  if (typeof text !== 'string') return block
  if (type === 'markdown') return { ...block, text: withoutGroupMentions(text) }
  return type === 'mrkdwn' ? { ...block, text: text.replaceAll(/<(?=\s*!(?!date\^))/g, '&lt;') } : block
}
