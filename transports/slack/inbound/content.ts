import { isJsonObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { objectAt, objectsAt, textAt } from '../fields.ts'
import { mrkdwnToMarkdown, type Names, richToMarkdown, unescaped } from './markdown.ts'

/**
 * What a message of Slack says. Other bots often say all they say in blocks
 * (https://docs.slack.dev/reference/block-kit/blocks) or attachments
 * (https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments), and what somebody forwards is
 * an attachment, too.
 */
export type Content = { text: string; blocks: JsonObject[]; attachments: JsonObject[] }

/** What Slack says in place of a text that there is none of. */
const PLACEHOLDERS = new Set(["This content can't be displayed.", '[no preview available]'])

export function contentOf(message: JsonObject): Content {
  const text = textAt(message, 'text') ?? ''
  return { text, blocks: objectsAt(message, 'blocks'), attachments: objectsAt(message, 'attachments') }
}

/**
 * A content as markdown. Where its text says nothing but the mention of `bot` at its start, what it shows speaks for
 * it: a paragraph for the blocks, and one for each attachment.
 */
export function contentText({ text, blocks, attachments }: Content, names: Names, bot?: string): string {
  const whole = isRich(blocks) ? richToMarkdown(blocks, names) : mrkdwnToMarkdown(text, names)
  // `@bot do this` says `do this`: whom it is said to is in `data.mention`.
  const said = bot === undefined ? whole : whole.replace(new RegExp(`^\\s*@${bot}\\b[\\s,:]*`), '')
  if (said.trim() !== '' && !PLACEHOLDERS.has(said.trim())) return said
  const shown = attachments.map((each) => attachmentText(each, names))
  const paragraphs = isRich(blocks) ? shown : [blocksText(blocks, names), ...shown]
  return paragraphs.filter(Boolean).join('\n\n') || said
}

/** For `data`: what is shown as Slack sent it. */
export function contentData({ blocks, attachments }: Content): JsonObject {
  const shown = { blocks: isRich(blocks) ? [] : blocks, attachments }
  return Object.fromEntries(Object.entries(shown).filter(([, list]) => list.length > 0))
}

/** The ids of people and channels that are named anywhere in it without saying how they are called. */
export function idsIn(content: Content): { users: Set<string>; channels: Set<string> } {
  const users = new Set<string>()
  const channels = new Set<string>()
  const visit = (value: Json) => {
    if (typeof value === 'string') {
      for (const [, id = ''] of value.matchAll(/<@([UW][A-Z0-9]+)>/g)) users.add(id)
      for (const [, id = ''] of value.matchAll(/<#([CGD][A-Z0-9]+)\|?>/g)) channels.add(id)
    } else if (Array.isArray(value)) value.forEach(visit)
    else if (isJsonObject(value)) {
      // An attachment has a channel_id as well, which nobody reads.
      if (value.type === 'user' && typeof value.user_id === 'string') users.add(value.user_id)
      if (value.type === 'channel' && typeof value.channel_id === 'string') channels.add(value.channel_id)
      Object.values(value).forEach(visit)
    }
  }
  visit([content.text, content.blocks, content.attachments])
  return { users, channels }
}

/** What people type, which is their text; anything else is shown besides. */
function isRich(blocks: readonly JsonObject[]): boolean {
  return blocks.length > 0 && blocks.every(({ type }) => type === 'rich_text')
}

function blocksText(blocks: readonly JsonObject[], names: Names): string {
  return lines(blocks.map((block) => blockText(block, names)))
}

function blockText(block: JsonObject, names: Names): string {
  const text = (path: string) => textOf(objectAt(block, path), names)
  const texts = (path: string) => objectsAt(block, path).map((each) => textOf(each, names))
  switch (block.type) {
    case 'rich_text':
      return richToMarkdown([block], names)
    case 'section':
      return lines([text('text'), ...texts('fields')])
    case 'context':
      return texts('elements').filter(Boolean).join(' ')
    case 'markdown':
      return textAt(block, 'text') ?? ''
    case 'image':
      return text('title') || (textAt(block, 'alt_text') ?? '')
    case 'table': {
      const rows = Array.isArray(block.rows) ? block.rows : []
      const cells = (row: Json) => (Array.isArray(row) ? row.filter(isJsonObject) : [])
      const shown = (row: Json) => cells(row).map((cell) => textOf(cell, names))
      return lines(rows.map((row) => shown(row).join(' | ')))
    }
    default:
      return text('text') || text('title')
  }
}

/** A text object of Block Kit, or a cell of a table. */
function textOf(object: JsonObject, names: Names): string {
  if (object.type === 'rich_text') return richToMarkdown([object], names)
  const text = textAt(object, 'text') ?? ''
  return object.type === 'mrkdwn' ? mrkdwnToMarkdown(text, names) : unescaped(text)
}

function attachmentText(attachment: JsonObject, names: Names): string {
  const said = (key: string, of = attachment) => mrkdwnToMarkdown(textAt(of, key) ?? '', names)
  const plain = (key: string, of = attachment) => unescaped(textAt(of, key) ?? '')
  const link = textAt(attachment, 'title_link')
  const title = link && plain('title') ? `[${plain('title')}](${link})` : plain('title')
  const forwarded = objectsAt(attachment, 'message_blocks').flatMap((each) =>
    objectsAt(each, 'message.blocks'),
  )
  const blocks = blocksText(forwarded.length > 0 ? forwarded : objectsAt(attachment, 'blocks'), names)
  const fields = objectsAt(attachment, 'fields').map((field) =>
    [plain('title', field), said('value', field)].filter(Boolean).join(': '),
  )
  const whole = lines([said('pretext'), title, blocks || said('text'), ...fields])
  return whole === '' && !PLACEHOLDERS.has(said('fallback')) ? said('fallback') : whole
}

function lines(texts: readonly string[]): string {
  return texts.filter(Boolean).join('\n')
}
