import { isJsonObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { defined, objectAt, objectsAt, textAt } from '../fields.ts'
import { idsIn, mrkdwnToMarkdown, type Names, toMarkdown, unescaped } from './to-markdown.ts'

/** What a message shows besides its text: blocks that are no rich text, and attachments. */
export type Shown = { blocks: JsonObject[]; attachments: JsonObject[] }

/** What is kept of each for skills to look at, as JSON (bytes). */
const MAX_RAW = 32 * 1024
/** What Slack says in place of a text that there is none of. */
const PLACEHOLDERS = new Set(["This content can't be displayed.", '[no preview available]'])

/**
 * What a message of Slack shows besides its text; undefined for nearly all that people write. Other bots often say
 * all they say in blocks (https://docs.slack.dev/reference/block-kit/blocks) or attachments
 * (https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments), and what somebody forwards is
 * an attachment, too.
 */
export function shownIn(message: JsonObject): Shown | undefined {
  const all = objectsAt(message, 'blocks')
  const attachments = objectsAt(message, 'attachments')
  const blocks = all.every((block) => block.type === 'rich_text') ? [] : all
  return blocks.length + attachments.length === 0 ? undefined : { blocks, attachments }
}

/** Whether a text says nothing, so that what is shown has to speak for it. */
export function saysNothing(text: string): boolean {
  const said = text.trim()
  return said === '' || PLACEHOLDERS.has(said)
}

/** What is shown, as markdown: a paragraph for the blocks and for each attachment. */
export function shownText({ blocks, attachments }: Shown, names: Names): string {
  const paragraphs = [blocksText(blocks, names), ...attachments.map((each) => attachmentText(each, names))]
  return paragraphs.filter((paragraph) => paragraph !== '').join('\n\n')
}

/** The ids of people and channels that are named in what is shown. */
export function idsShown({ blocks, attachments }: Shown): ReturnType<typeof idsIn> {
  const texts: string[] = []
  const found = { users: new Set<string>(), channels: new Set<string>() }
  const visit = (value: Json) => {
    if (typeof value === 'string') texts.push(value)
    else if (Array.isArray(value)) value.forEach(visit)
    else if (isJsonObject(value)) {
      // An attachment has a channel_id as well, which nobody reads.
      if (value.type === 'user' && typeof value.user_id === 'string') found.users.add(value.user_id)
      if (value.type === 'channel' && typeof value.channel_id === 'string')
        found.channels.add(value.channel_id)
      Object.values(value).forEach(visit)
    }
  }
  visit([blocks, attachments])
  const { users, channels } = idsIn(texts.join('\n'), undefined)
  return { users: users.union(found.users), channels: channels.union(found.channels) }
}

/** For `data`: what is shown as Slack sent it; `leftOut` names what is too large for that, and its size. */
export function shownData(shown: Shown): JsonObject {
  const data: JsonObject = {}
  const leftOut: JsonObject = {}
  for (const key of ['blocks', 'attachments'] as const) {
    if (shown[key].length === 0) continue
    const size = Buffer.byteLength(JSON.stringify(shown[key]))
    if (size > MAX_RAW) leftOut[key] = size
    else data[key] = shown[key]
  }
  return defined({ ...data, leftOut: Object.keys(leftOut).length > 0 ? leftOut : undefined })
}

function blocksText(blocks: readonly JsonObject[], names: Names): string {
  return lines(blocks.map((block) => blockText(block, names)))
}

function blockText(block: JsonObject, names: Names): string {
  const texts = (path: string) => objectsAt(block, path).map((each) => textOf(each, names))
  switch (block.type) {
    case 'rich_text':
      return toMarkdown('', [block], names)
    case 'section':
      return lines([textOf(objectAt(block, 'text'), names), ...texts('fields')])
    case 'context':
      return texts('elements').filter(Boolean).join(' ')
    case 'markdown':
      return textAt(block, 'text') ?? ''
    case 'image':
      return textOf(objectAt(block, 'title'), names) || (textAt(block, 'alt_text') ?? '')
    case 'table':
      return tableText(block, names)
    default:
      return textOf(objectAt(block, 'text'), names) || textOf(objectAt(block, 'title'), names)
  }
}

function tableText(block: JsonObject, names: Names): string {
  const rows = Array.isArray(block.rows) ? block.rows : []
  const row = (cells: Json) =>
    Array.isArray(cells)
      ? cells.map((cell) => (isJsonObject(cell) ? textOf(cell, names) : '')).join(' | ')
      : ''
  return lines(rows.map(row))
}

/** A text object of Block Kit, or a cell of a table. */
function textOf(object: JsonObject, names: Names): string {
  if (object.type === 'rich_text') return toMarkdown('', [object], names)
  const text = textAt(object, 'text') ?? ''
  return object.type === 'mrkdwn' ? mrkdwnToMarkdown(text, names) : unescaped(text)
}

function attachmentText(attachment: JsonObject, names: Names): string {
  const said = (key: string) => mrkdwnToMarkdown(textAt(attachment, key) ?? '', names)
  const forwarded = objectsAt(attachment, 'message_blocks').flatMap((each) =>
    objectsAt(each, 'message.blocks'),
  )
  const blocks = blocksText(forwarded.length > 0 ? forwarded : objectsAt(attachment, 'blocks'), names)
  const fields = objectsAt(attachment, 'fields').map((field) => {
    const value = mrkdwnToMarkdown(textAt(field, 'value') ?? '', names)
    const title = unescaped(textAt(field, 'title') ?? '')
    return title === '' ? value : `${title}: ${value}`
  })
  const whole = lines([said('pretext'), titleOf(attachment), blocks || said('text'), ...fields])
  const fallback = said('fallback')
  return whole === '' && !PLACEHOLDERS.has(fallback) ? fallback : whole
}

function titleOf(attachment: JsonObject): string {
  const title = unescaped(textAt(attachment, 'title') ?? '')
  const link = textAt(attachment, 'title_link')
  return title === '' || link === undefined ? title : `[${title}](${link})`
}

function lines(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n')
}
