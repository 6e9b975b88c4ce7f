import { isJsonObject } from '../../../src/core/json.ts'

/** https://docs.slack.dev/reference/block-kit/blocks/markdown-block: 12,000 characters a message. */
export const LIMIT = 11_900
/** For code that is closed and opened again where it is cut. */
const ROOM = 60
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

/**
 * Splits markdown into posts that Slack takes: between paragraphs where it can, else between lines or words. Code that
 * is cut is closed and opened again, so that every part stands alone.
 */
export function splitMarkdown(markdown: string, limit = LIMIT): string[] {
  const parts: string[] = []
  let rest = markdown.trim()
  while (rest.length > limit) {
    const at = cutOf(rest, limit - ROOM)
    const part = rest.slice(0, at).trimEnd()
    const following = rest.slice(at).replace(/^\n+/, '')
    const fence = openFence(part)
    parts.push(fence ? `${part}\n${/^[`~]+/.exec(fence)}` : part)
    rest = fence ? `${fence}\n${following}` : following
  }
  if (rest !== '') parts.push(rest)
  return parts
}

function cutOf(text: string, longest: number): number {
  for (const separator of ['\n\n', '\n', ' ']) {
    const at = text.lastIndexOf(separator, longest)
    if (at > longest / 3) return at + 1
  }
  // Never between the halves of a character.
  const code = text.charCodeAt(longest - 1)
  return code >= 0xd800 && code <= 0xdbff ? longest - 1 : longest
}

/** The line that opened the code in which a part ends. */
function openFence(text: string): string | undefined {
  let open: string | undefined
  for (const [, fence = '', marks = ''] of text.matchAll(
    /^[ \t]*((`{3,10}|~{3,10})[^`\n]{0,20})[^`\n]*$/gm,
  )) {
    if (open === undefined) open = fence
    else if (open.startsWith(marks) && fence.trim() === marks) open = undefined
  }
  return open
}
