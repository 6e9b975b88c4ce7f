import type { JsonObject } from '../../../src/core/json.ts'
import { objectAt, objectsAt, textAt } from '../fields.ts'

/** Names that were looked up, by id; an id without one stands for itself. */
export type Names = ReadonlyMap<string, string>

/** Slack's markup as markdown; code stays as it is. */
export function mrkdwnToMarkdown(text: string, names: Names): string {
  return text
    .split(/(```[\s\S]*?```|`[^`\n]+`)/)
    .map((part, index) => unescaped(references(index % 2 === 1 ? part : styles(part), names)))
    .join('')
}

/** Slack escapes three characters in all texts. */
export function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

/**
 * Rich text as markdown. Slack's clients send what people type in such blocks, which say exactly what is markup and
 * what is text (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block).
 */
export function richToMarkdown(blocks: readonly JsonObject[], names: Names): string {
  const elements = blocks.flatMap((block) => objectsAt(block, 'elements'))
  return elements.map((element) => richElement(element, names)).join('\n')
}

function richElement(element: JsonObject, names: Names): string {
  const elements = objectsAt(element, 'elements')
  if (element.type === 'rich_text_list') {
    const indent = '  '.repeat(typeof element.indent === 'number' ? element.indent : 0)
    const mark = (index: number) => (element.style === 'ordered' ? `${index + 1}.` : '-')
    return elements.map((item, index) => `${indent}${mark(index)} ${richElement(item, names)}`).join('\n')
  }
  const inside = elements.map((each) => styled(each, inlineText(each, names))).join('')
  if (element.type === 'rich_text_preformatted') return `\`\`\`\n${inside}\n\`\`\``
  return element.type === 'rich_text_quote' ? inside.replaceAll(/^/gm, '> ') : inside
}

/** Markdown wants its marks next to the words. */
function styled(element: JsonObject, text: string): string {
  const { code, strike, italic, bold } = objectAt(element, 'style')
  if (code) return `\`${text}\``
  const mark = `${bold ? '**' : ''}${italic ? '_' : ''}${strike ? '~~' : ''}`
  const core = text.trim()
  if (mark === '' || core === '') return text
  const end = `${strike ? '~~' : ''}${italic ? '_' : ''}${bold ? '**' : ''}`
  return text.replace(core, () => `${mark}${core}${end}`)
}

function inlineText(element: JsonObject, names: Names): string {
  const text = (key: string) => textAt(element, key) ?? ''
  const name = (key: string) => names.get(text(key)) ?? text(key)
  switch (element.type) {
    case 'link':
      return ['', text('url')].includes(text('text')) ? text('url') : `[${text('text')}](${text('url')})`
    case 'user':
      return `@${name('user_id')}`
    case 'channel':
      return `#${name('channel_id')}`
    case 'usergroup':
      return `@${text('usergroup_id')}`
    case 'broadcast':
      return `@${text('range')}`
    case 'emoji':
      return `:${text('name')}:`
    default:
      return text('text')
  }
}

function styles(text: string): string {
  return text
    .replaceAll(/(^|[\s(_~])\*(?=\S)([^*\n]+?)(?<=\S)\*(?=$|[\s).,;:!?_~])/gm, '$1**$2**')
    .replaceAll(/(^|[\s(_*])~(?=\S)([^~\n]+?)(?<=\S)~(?=$|[\s).,;:!?_*])/gm, '$1~~$2~~')
}

/** https://docs.slack.dev/messaging/formatting-message-text: what stands in angle brackets. */
function references(text: string, names: Names): string {
  return text.replaceAll(/<([^<>\n|]+)(?:\|([^<>\n]*))?>/g, (_, target: string, label?: string) => {
    const [kind, id] = [target.charAt(0), target.slice(1)]
    if (kind === '@' || kind === '#') return `${kind}${label || (names.get(id) ?? id)}`
    if (kind === '!') return special(id, label)
    const plain = target.replace(/^mailto:/, '')
    return label === undefined || label === plain || label === target ? plain : `[${label}](${target})`
  })
}

/**
 * What stands after the `!`: `here`, `subteam^S1`, `date^1700000000^{date}`. The mention stays one that people read;
 * as text it calls nobody, should it be said again.
 */
function special(command: string, label: string | undefined): string {
  const [kind = '', detail] = command.split('^')
  if (kind === 'date') return label || (detail ?? '')
  return `@${(label || (kind === 'subteam' ? detail : kind) || kind).replace(/^@/, '')}`
}
