import {
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  objectsAt,
  textAt,
} from '../../../src/core/json.ts'
import { escapeText } from '../outbound/escape-text.ts'
import { fencedOnLines, isForwarded, quoted } from './forwarded.ts'

/**
 * Content of a Slack message: text in Slack's markup, and its blocks and attachments for `data`, as
 * Slack sent them.
 */
export type Content = { text: string; layout: JsonObject }

/** Slack's placeholders for missing text. */
const PLACEHOLDERS = new Set(["This content can't be displayed.", '[no preview available]'])

/**
 * Reads a message. Everything that a person types is in the text; forwarded messages are
 * attachments, and are added as quotes. If the text is empty except for the mention of `bot` at its
 * start, blocks (https://docs.slack.dev/reference/block-kit/blocks) and attachments are read
 * instead, where many bots put all content.
 */
export function contentOf(message: JsonObject, bot = ''): Content {
  const blocks = objectsAt(message, 'blocks')
  const attachments = objectsAt(message, 'attachments')
  // `@bot: do this` becomes `do this`; the mention is in `data.mention`. A colon may begin an
  // emoji.
  const leadingMention = new RegExp(`^\\s*<@${bot}(\\|[^>]*)?>(?:[\\s,]|:(?![^\\s:]+:))*`)
  const text = (textAt(message, 'text') ?? '').replace(leadingMention, '')
  const hasText = text.trim() !== '' && !PLACEHOLDERS.has(text.trim())
  const paragraphs = hasText
    ? [text, ...attachments.filter(isForwarded).map((each) => quoted(each, attachmentText(each)))]
    : [lines(textsIn(blocks)).replace(leadingMention, ''), ...attachments.map(attachmentText)]
  // A single rich text block only repeats the text.
  const isTyped = blocks.every(({ type }) => type === 'rich_text')
  return {
    text: paragraphs.filter(Boolean).join('\n\n') || text,
    layout: { ...(isTyped ? {} : { blocks }), ...(attachments.length === 0 ? {} : { attachments }) },
  }
}

/** The texts of blocks and of the objects in them. */
function textsIn(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn)
  if (!isJsonObject(value)) return []
  const { type, text, rows } = value
  switch (type) {
    case 'actions':
    case 'context_actions':
      return []
    case 'image':
      return [textAt(value, 'title.text') ?? textAt(value, 'alt_text') ?? '']
    case 'table':
    case 'data_table': {
      const lines = Array.isArray(rows) ? rows.map((row) => textsIn(row).join(' | ')) : []
      return [...textsOfPart(value.caption), ...lines]
    }
    case 'raw_number':
      return [typeof text === 'string' ? text : String(value.value ?? '')]
    case 'rich_text_section':
    case 'rich_text_preformatted':
    case 'rich_text_quote':
      return [objectsAt(value, 'elements').map(inlineText).join('')]
    default:
      return typeof text === 'string' ? [text] : PARTS.flatMap((name) => textsOfPart(value[name]))
  }
}

/**
 * The parts of sections, cards, carousels, containers, plans, tasks and videos, in the order in
 * which they are shown.
 */
const PARTS =
  'text title rich_text_title subtitle body description fields elements child_blocks tasks details output'.split(
    ' ',
  )

/** The texts of a part, which may be a plain string. */
function textsOfPart(part: Json | undefined): string[] {
  return typeof part === 'string' ? [part] : textsIn(part)
}

/**
 * The text of a rich-text element
 * (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block).
 */
function inlineText(element: JsonObject): string {
  const { type, user_id, channel_id, usergroup_id, range, name, url, timestamp, value } = element
  const text = escapeText(textAt(element, 'text') ?? '')
  const marks: Record<string, string> = {
    user: `<@${user_id}>`,
    channel: `<#${channel_id}>`,
    usergroup: `<!subteam^${usergroup_id}>`,
    broadcast: `<!${range}>`,
    emoji: `:${name}:`,
    color: `${value}`,
    date: escapeText(textAt(element, 'fallback') ?? dateOf(timestamp)),
    link: text === '' ? `<${url}>` : `<${url}|${text}>`,
  }
  return marks[String(type)] ?? text
}

/** A time in Unix seconds. */
function dateOf(timestamp: Json | undefined): string {
  const date = new Date(Number(timestamp) * 1000)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/**
 * The text of an attachment
 * (https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments).
 */
function attachmentText(attachment: JsonObject): string {
  const text = (key: string, of = attachment) => textAt(of, key) ?? ''
  const link = text('title_link')
  const title = text('title')
  const fallback = text('fallback')
  const forwarded = objectsAt(attachment, 'message_blocks').map(
    (each) => objectAt(each, 'message').blocks ?? [],
  )
  const blocks = lines(textsIn(forwarded.length > 0 ? forwarded : attachment.blocks))
  const fields = objectsAt(attachment, 'fields').map((field) =>
    [text('title', field), text('value', field)].filter(Boolean).join(': '),
  )
  const head = link && title ? `<${link}|${title}>` : title
  const whole = lines([text('pretext'), head, blocks || text('text'), ...fields])
  return whole === '' && !PLACEHOLDERS.has(fallback) ? fallback : whole
}

function lines(texts: readonly string[]): string {
  return texts.filter(Boolean).join('\n')
}

/**
 * Converts Slack's markup to Markdown. Code is unchanged, except that fences get their own lines.
 * `names` are by id; ids without a name stay.
 */
export function mrkdwnToMarkdown(text: string, names: ReadonlyMap<string, string>): string {
  return (
    fencedOnLines(text)
      .split(/(```[\s\S]*?```|`[^`\n]+`)/)
      .map((part, index) => references(index % 2 === 1 ? part : styles(part), names))
      .join('')
      // Slack escapes three characters in all texts.
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&')
  )
}

/** The ids of people, channels and user groups in the markup that have no name there. */
export function idsIn(text: string): Set<string> {
  const mentions = text.matchAll(/<(?:@([UW][A-Z0-9]+)|#([CGD][A-Z0-9]+)\|?|!subteam\^(S[A-Z0-9]+)\|?)>/g)
  return new Set(Array.from(mentions, ([, user, channel, group = '']) => user ?? channel ?? group))
}

/** Converts bullets, bold and struck text. */
function styles(text: string): string {
  // Most texts contain none of these, and the patterns try every character.
  if (!/[•◦▪*~]/.test(text)) return text
  return text
    .replaceAll(/^((?:> )?\s*)[•◦▪]\uFE0E? /gm, '$1- ')
    .replaceAll(/(^|[\s(_~])\*(?=\S)([^*\n]+?)(?<=\S)\*(?=$|[\s).,;:!?_~])/gm, '$1**$2**')
    .replaceAll(/(^|[\s(_*])~(?=\S)([^~\n]+?)(?<=\S)~(?=$|[\s).,;:!?_*])/gm, '$1~~$2~~')
}

/**
 * Converts references in angle brackets: https://docs.slack.dev/messaging/formatting-message-text
 */
function references(text: string, names: ReadonlyMap<string, string>): string {
  return text.replaceAll(/<([^<>\n|]+)(?:\|([^<>\n]*))?>/g, (_, target: string, label?: string) => {
    const kind = target.charAt(0)
    const id = target.slice(1)
    if (kind === '@' || kind === '#') return `${kind}${label || (names.get(id) ?? id)}`
    if (kind === '!') return special(id, label || names.get(id.split('^')[1] ?? ''))
    const plain = target.replace(/^mailto:/, '')
    return label === undefined || label === plain || label === target ? plain : `[${label}](${target})`
  })
}

/**
 * Converts a special mention: `here`, `subteam^S1`, `date^1700000000^{date}`. The result is
 * readable text that notifies nobody if it is sent again.
 */
function special(command: string, label: string | undefined): string {
  const [kind = '', detail] = command.split('^')
  if (kind === 'date') return label || (detail ?? '')
  return `@${(label || (kind === 'subteam' ? detail : kind) || kind).replace(/^@/, '')}`
}
