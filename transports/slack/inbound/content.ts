import {
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  objectsAt,
  textAt,
} from '../../../src/core/json.ts'
import { escapeText } from '../outbound/words.ts'
import { fencedOnLines, isForwarded, quoted } from './forwarded.ts'

/** Content of a Slack message: text in Slack's markup, and further content for `data` as Slack sent it. */
export type Content = { text: string; shown: JsonObject }

/** Slack's placeholders for missing text. */
const PLACEHOLDERS = new Set(["This content can't be displayed.", '[no preview available]'])

/**
 * Reads a message. People's messages have everything they typed in their text; forwarded messages are attachments, and follow as a
 * quote. If the text is empty except for the mention of `bot` at its start, blocks
 * (https://docs.slack.dev/reference/block-kit/blocks) and attachments are read instead, where many bots put all content.
 */
export function contentOf(message: JsonObject, bot = ''): Content {
  const [blocks, attachments] = [objectsAt(message, 'blocks'), objectsAt(message, 'attachments')]
  // `@bot do this` becomes `do this`; the mention is in `data.mention`.
  const address = new RegExp(`^\\s*<@${bot}(\\|[^>]*)?>[\\s,:]*`)
  const said = (textAt(message, 'text') ?? '').replace(address, '')
  const isSaid = said.trim() !== '' && !PLACEHOLDERS.has(said.trim())
  const paragraphs = isSaid
    ? []
    : [lines(saidIn(blocks)).replace(address, ''), ...attachments.map(saidInAttachment)]
  const forwarded = isSaid ? attachments.filter(isForwarded) : []
  const quotes = forwarded.map((each) => quoted(each, saidInAttachment(each)))
  const isRich = blocks.every(({ type }) => type === 'rich_text')
  return {
    text: (isSaid ? [said, ...quotes] : paragraphs).filter(Boolean).join('\n\n') || said,
    shown: { ...(isRich ? {} : { blocks }), ...(attachments.length === 0 ? {} : { attachments }) },
  }
}

/** The texts of blocks and of the objects in them. */
function saidIn(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.flatMap(saidIn)
  if (!isJsonObject(value)) return []
  const { type, text, title, fields, elements = [], rows } = value
  switch (type) {
    case 'actions':
      return []
    case 'image':
      return [textAt(value, 'title.text') ?? textAt(value, 'alt_text') ?? '']
    case 'table':
      return Array.isArray(rows) ? rows.map((row) => saidIn(row).join(' | ')) : []
    case 'rich_text_section':
    case 'rich_text_preformatted':
    case 'rich_text_quote':
      return [objectsAt(value, 'elements').map(saidInline).join('')]
    default:
      return typeof text === 'string' ? [text] : [text, title, fields, elements].flatMap(saidIn)
  }
}

/** The text of a rich-text element (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block). */
function saidInline(element: JsonObject): string {
  const { type, user_id, channel_id, usergroup_id, range, name, url } = element
  const text = escapeText(textAt(element, 'text') ?? '')
  const marks: Record<string, string> = {
    user: `<@${user_id}>`,
    channel: `<#${channel_id}>`,
    usergroup: `<!subteam^${usergroup_id}>`,
    broadcast: `<!${range}>`,
    emoji: `:${name}:`,
    link: text === '' ? `<${url}>` : `<${url}|${text}>`,
  }
  return marks[String(type)] ?? text
}

/** https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments */
function saidInAttachment(attachment: JsonObject): string {
  const text = (key: string, of = attachment) => textAt(of, key) ?? ''
  const [link, title, fallback] = [text('title_link'), text('title'), text('fallback')]
  const forwarded = objectsAt(attachment, 'message_blocks').map(
    (each) => objectAt(each, 'message').blocks ?? [],
  )
  const blocks = lines(saidIn(forwarded.length > 0 ? forwarded : attachment.blocks))
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
 * Converts Slack's markup to Markdown. Code is unchanged, except that fences get their own lines. `names` are by id; ids without a name
 * stay.
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
  const named = text.matchAll(/<(?:@([UW][A-Z0-9]+)|#([CGD][A-Z0-9]+)\|?|!subteam\^(S[A-Z0-9]+)\|?)>/g)
  return new Set(Array.from(named, ([, user, channel, group = '']) => user ?? channel ?? group))
}

function styles(text: string): string {
  // Most texts contain none of these, and the patterns try every character.
  if (!/[•◦▪*~]/.test(text)) return text
  return text
    .replaceAll(/^((?:> )?\s*)[•◦▪]\uFE0E? /gm, '$1- ')
    .replaceAll(/(^|[\s(_~])\*(?=\S)([^*\n]+?)(?<=\S)\*(?=$|[\s).,;:!?_~])/gm, '$1**$2**')
    .replaceAll(/(^|[\s(_*])~(?=\S)([^~\n]+?)(?<=\S)~(?=$|[\s).,;:!?_*])/gm, '$1~~$2~~')
}

/** Converts references in angle brackets: https://docs.slack.dev/messaging/formatting-message-text */
function references(text: string, names: ReadonlyMap<string, string>): string {
  return text.replaceAll(/<([^<>\n|]+)(?:\|([^<>\n]*))?>/g, (_, target: string, label?: string) => {
    const [kind, id] = [target.charAt(0), target.slice(1)]
    if (kind === '@' || kind === '#') return `${kind}${label || (names.get(id) ?? id)}`
    if (kind === '!') return special(id, label || names.get(id.split('^')[1] ?? ''))
    const plain = target.replace(/^mailto:/, '')
    return label === undefined || label === plain || label === target ? plain : `[${label}](${target})`
  })
}

/**
 * Converts a special mention: `here`, `subteam^S1`, `date^1700000000^{date}`. The result is readable text that notifies nobody if it
 * is sent again.
 */
function special(command: string, label: string | undefined): string {
  const [kind = '', detail] = command.split('^')
  if (kind === 'date') return label || (detail ?? '')
  return `@${(label || (kind === 'subteam' ? detail : kind) || kind).replace(/^@/, '')}`
}
