import { actionInWords, isSaidInWords, shownTarget } from '../../lib/audit-words.ts'
import { BEGINNING, isBeginning } from '../../lib/beginning.ts'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { Moment, span } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { senderOf } from './messages.js'

/** An author of the log: their name, and how they are known. */
export function authorIn({ by, kind, action, target }) {
  if (action === 'configuration-change')
    return {
      name: `from ${fileName(target?.file ?? 'a file')}`,
      known: 'a change of the file; it does not say who made it',
    }
  if (action === 'skill-change')
    return { name: 'from its folder', known: 'a change of files; they do not say who made it' }
  if (kind === 'system') return { name: 'Trivium', known: 'Trivium itself' }
  if (by === 'control-token') return { name: 'control token', known: 'control token, without a name' }
  const [, how] = NAMED.exec(by) ?? []
  const name = shownName(by)
  return { name, known: HOW[how] ?? (/^[^:\s]+@[^@\s]+$/.test(by) ? 'command line' : 'sender of a message') }
}

const NAMED = /^(oidc|control-token|token):(.*)$/s

/** The name of an author as the rows show it. A search for it finds the author. */
export function shownName(by) {
  return NAMED.exec(by)?.[2] ?? by
}

function fileName(path) {
  return path.split(/[\\/]/).at(-1)
}

const HOW = {
  oidc: 'signed in at the identity provider',
  'control-token': 'signed in with the control token; the name is not verified',
  token: 'token of a program',
}

const ICONS = { person: '●', token: '◆', system: '⚙' }

/** An author with a sign for their kind. */
export function Who({ of: entry, to }) {
  const { name, known } = authorIn(entry)
  return html`<span class=${`actor ${entry.kind}`} aria-label=${entry.kind} role="img" title=${entry.kind}>${ICONS[entry.kind]}</span> <a class="plain-text" title=${`${entry.by}: ${known}. Show only what was done under this name`} href=${to}>${name}</a>`
}

/** The kind of badge and the sign for each word of an outcome. */
const RESULTS = {
  done: ['good', '✓'],
  begun: ['dim', '…'],
  approved: ['good', '✓'],
  denied: ['bad', '⊘'],
  expired: ['warn', '⊘'],
  'not allowed': ['warn', '⊘'],
  cancelled: ['dim', '–'],
  failed: ['bad', '✕'],
  'nothing changed': ['dim', '–'],
}

/** The decision about a request, or whether the action was done; the tooltip has the error code. */
export function Result({ of: { word, outcome } }) {
  const [kind, sign] = RESULTS[word] ?? ['dim', '']
  return html`<span class=${`badge ${kind}`} title=${outcome}>${sign} ${word}</span>`
}

/** `Dropped a dead letter`. */
export function inWords(entry) {
  const words = actionInWords(entry)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** The addresses of the objects in an entry, by the name of the argument. */
const PAGES = {
  messageId: (id) => ['messages', id],
  gateway: (name) => ['gateways', name],
  skill: (name) => ['skills', name],
  route: (name) => ['routes', name],
  conversation: (name, { gateway }) => (gateway ? ['conversations', gateway, name] : undefined),
  job: (id) => ['jobs', id],
  queue: (name, { topic }) => (topic ? ['queues', topic, name] : undefined),
}
/** The same for arguments called `id` or `name`, whose meaning depends on the action. */
const OF_ACTIONS = [
  [/^(?:dead-letter|message)-/, 'id', (id) => (UUID.test(id) ? ['messages', id] : undefined)],
  [/^job-/, 'id', (id) => ['jobs', id]],
  [/^subscription-/, 'name', (name) => pushOf(name)],
]

function pushOf(name) {
  const found = now.value?.subscriptions?.find((each) => each.name === name)
  return found && ['queues', found.topic, name]
}

function pageOf(action, target, name, text) {
  const ofAction = OF_ACTIONS.find(([pattern, argument]) => argument === name && pattern.test(action))
  return (ofAction?.[2] ?? PAGES[name])?.(text, target)
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** A UUID, or the id of a job, which ends with one. */
const LONG_ID = /^(?:[a-z-]+-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const NAMES = { messageId: 'message', id: '', do: '', name: '', trouble: '' }
const TIMES = new Set(['since', 'until', 'at'])
export const DECISION = 'approval-decide'
/** Actions on a person, whose name is not in the log. */
export const NAMELESS = /^person-(?:export|erase|erased)$/

/**
 * The objects of an entry. A decision shows the title of its request, which the log itself does not
 * keep.
 */
export function What({ of: entry, requests }) {
  const { action, target = {}, result = {} } = entry
  const { id } = target
  const title = action === DECISION ? requests?.get(id)?.title : undefined
  const isOfMessage = (name) => name === 'messageId' || name === 'conversation' || name === 'id'
  const isRedundant = (name) =>
    (title && (name === 'id' || name === 'skill')) ||
    isSaidInWords(name, entry) ||
    (entry.about && isOfMessage(name) && !action.startsWith('approval-')) ||
    (entry.about && name === 'messageId')
  const shown = shownTarget(entry).filter(([name]) => !isRedundant(name))
  const words = inWords(entry)
  return html`${title && html`<a href=${link('approvals', { id })}><b title=${id}>${title}</b></a> `}${entry.about && html`<${About} of=${entry.about} action=${action} isPersonOnly=${title !== undefined} /> `}${shown.map(([name, value]) => html`<span key=${name}>${labelOf(name, words) && html`<span class="dim">${labelOf(name, words)}</span> `}<${Value} name=${name} value=${value} action=${action} target=${target} /> </span>`)}${typeof result.job === 'string' && html`<a href=${link(['jobs', result.job])}>see the job</a>`}`
}

/** The name of an argument before its value, unless the words before it end with it. */
function labelOf(name, words) {
  const label = NAMES[name] ?? name
  return words.endsWith(` ${label}`) ? '' : label
}

/** The person, and the subject unless a title replaces it, that an entry is about, as a link to the conversation or the message. */
function About({ of: { messageId, gateway, conversation, from, subject }, action, isPersonOnly }) {
  const isTalk = action.startsWith('conversation-') || action === 'gateway-send'
  const to = link(isTalk ? ['conversations', gateway, conversation] : ['messages', messageId])
  return html`<a href=${to} title=${messageId}>${senderOf(from)}${subject && !isPersonOnly && html`: ${subject}`}</a>`
}

function Value({ name, value, action, target }) {
  if (TIMES.has(name)) return html`<${When} at=${value} />`
  if (name === 'for' && typeof value === 'number') return span(value)
  const text = textOf(value)
  if (name === 'file') return html`<a href=${link('configuration')} title=${text}>${fileName(text)}</a>`
  const short = LONG_ID.test(text) ? html`<code title=${text}>…${text.slice(-8)}</code>` : text
  if (name === 'id' && action.startsWith('approval-'))
    return html`<a href=${link('approvals', { id: text })}>${short}</a>`
  const path = typeof value === 'string' ? pageOf(action, target, name, text) : undefined
  return path ? html`<a href=${link(path)}>${short}</a>` : short
}

function textOf(value) {
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.join(', ') : JSON.stringify(value)
}

/** A time in an argument: Unix ms, ISO 8601, or an age such as `2h`, which is shown unchanged. */
export function When({ at }) {
  if (isBeginning(at)) return BEGINNING
  const time = new Date(at)
  return Number.isNaN(time.getTime()) ? String(at) : html`<${Moment} at=${time.getTime()} />`
}
