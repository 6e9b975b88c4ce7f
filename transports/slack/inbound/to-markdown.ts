import { isJsonObject, type Json, type JsonObject } from '../../../src/core/json.ts'
import { objectAt, objectsAt, textAt } from '../fields.ts'

/** Names that were looked up, by id; an id without one stands for itself. */
export type Names = ReadonlyMap<string, string>

/** The ids of people and channels that a message names without saying how they are called. */
export function idsIn(text: string, blocks: Json | undefined): { users: Set<string>; channels: Set<string> } {
  const users = new Set<string>()
  const channels = new Set<string>()
  if (text.includes('<@')) for (const [, id = ''] of text.matchAll(/<@([UW][A-Z0-9]+)>/g)) users.add(id)
  if (text.includes('<#'))
    for (const [, id = ''] of text.matchAll(/<#([CGD][A-Z0-9]+)\|?>/g)) channels.add(id)
  if (blocks !== undefined) addIdsOf(blocks, users, channels)
  return { users, channels }
}

function addIdsOf(block: Json, users: Set<string>, channels: Set<string>): void {
  if (Array.isArray(block)) {
    for (const each of block) addIdsOf(each, users, channels)
    return
  }
  if (!isJsonObject(block)) return
  const { user_id: user, channel_id: channel } = block
  if (typeof user === 'string') users.add(user)
  if (typeof channel === 'string') channels.add(channel)
  for (const key in block) {
    const inner = block[key]
    if (typeof inner === 'object' && inner !== null) addIdsOf(inner, users, channels)
  }
}

/**
 * What a person wrote, as markdown. Slack's clients send what was typed as rich text, which says exactly what is
 * markup and what is text; other senders send only Slack's own markup, mrkdwn.
 */
export function toMarkdown(text: string, blocks: Json | undefined, names: Names): string {
  const list = Array.isArray(blocks) ? blocks.filter(isJsonObject) : []
  const isRich = list.length > 0 && list.every((block) => block.type === 'rich_text')
  if (!isRich) return mrkdwnToMarkdown(text, names)
  return list
    .flatMap((block) => objectsAt(block, 'elements'))
    .map((element) => richElement(element, names))
    .join('\n')
}

/** Slack's markup as markdown; code stays as it is. */
export function mrkdwnToMarkdown(text: string, names: Names): string {
  return text
    .split(/(```[\s\S]*?```|`[^`\n]+`)/)
    .map((part, index) => unescaped(references(index % 2 === 1 ? part : styles(part), names)))
    .join('')
}

function styles(text: string): string {
  return text
    .replaceAll(/(^|[\s(_~])\*(?=\S)([^*\n]+?)(?<=\S)\*(?=$|[\s).,;:!?_~])/gm, '$1**$2**')
    .replaceAll(/(^|[\s(_*])~(?=\S)([^~\n]+?)(?<=\S)~(?=$|[\s).,;:!?_*])/gm, '$1~~$2~~')
}

/** https://docs.slack.dev/messaging/formatting-message-text: what stands in angle brackets. */
function references(text: string, names: Names): string {
  return text.replaceAll(
    /<([^<>\n|]+)(?:\|([^<>\n]*))?>/g,
    (_, target: string, label: string | undefined) => {
      if (target.startsWith('@')) return `@${label || (names.get(target.slice(1)) ?? target.slice(1))}`
      if (target.startsWith('#')) return `#${label || (names.get(target.slice(1)) ?? target.slice(1))}`
      if (target.startsWith('!')) return special(target.slice(1), label)
      const plain = target.replace(/^mailto:/, '')
      return label === undefined || label === plain || label === target ? plain : `[${label}](${target})`
    },
  )
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

/** Slack escapes three characters in all texts. */
export function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

function richElement(element: JsonObject, names: Names, depth = 0): string {
  const inside = () =>
    objectsAt(element, 'elements')
      .map((each) => inline(each, names))
      .join('')
  switch (element.type) {
    case 'rich_text_preformatted':
      return `\`\`\`\n${inside()}\n\`\`\``
    case 'rich_text_quote':
      return inside().replaceAll(/^/gm, '> ')
    case 'rich_text_list': {
      const indent = '  '.repeat(typeof element.indent === 'number' ? element.indent : depth)
      const ordered = element.style === 'ordered'
      return objectsAt(element, 'elements')
        .map(
          (item, index) =>
            `${indent}${ordered ? `${index + 1}.` : '-'} ${richElement(item, names, depth + 1)}`,
        )
        .join('\n')
    }
    default:
      return inside()
  }
}

function inline(element: JsonObject, names: Names): string {
  const style = objectAt(element, 'style')
  const content = inlineText(element, names)
  if (style.code === true) return `\`${content}\``
  let marked = content
  for (const [key, mark] of [
    ['strike', '~~'],
    ['italic', '_'],
    ['bold', '**'],
  ] as const) {
    if (style[key] === true) marked = around(marked, mark)
  }
  return marked
}

/** Markdown wants its marks next to the words. */
function around(text: string, mark: string): string {
  const core = text.trim()
  return core === '' ? text : text.replace(core, () => `${mark}${core}${mark}`)
}

function inlineText(element: JsonObject, names: Names): string {
  const idName = (key: string) => {
    const id = textAt(element, key) ?? ''
    return names.get(id) ?? id
  }
  switch (element.type) {
    case 'link': {
      const url = textAt(element, 'url') ?? ''
      const label = textAt(element, 'text')
      return label === undefined || label === url ? url : `[${label}](${url})`
    }
    case 'user':
      return `@${idName('user_id')}`
    case 'channel':
      return `#${idName('channel_id')}`
    case 'usergroup':
      return `@${textAt(element, 'usergroup_id') ?? ''}`
    case 'broadcast':
      return `@${textAt(element, 'range') ?? ''}`
    case 'emoji':
      return `:${textAt(element, 'name') ?? ''}:`
    default:
      return textAt(element, 'text') ?? ''
  }
}
