import { invoke } from './api.js'
import { authorOf } from './authors.js'
import { causeOf } from './cause.js'
import { clockOf } from './clock-of.js'
import { aboutJob, badgeOf, canCancel } from './job-words.js'
import { cancelJob } from './jobs.js'
import { ago, cut } from './palette-text.js'
import { actOnRequest, messagesFor } from './palette-verbs.js'
import { preview } from './parts.js'
import { go } from './router.js'
import { wordTests } from './wanted.js'

/** Maximum records that are read. */
const LIMITS = { approvals: 200, jobs: 200 }

const to = (path, query) => () => go(path, query)

const pendingFirst = ({ status }) => (status === 'pending' ? 0 : 1)

/** Requests for an approval, those that wait first. */
export async function approvals(search, signal, verb) {
  const lists = ['pending', ...(verb ? [] : ['decided'])].map((status) =>
    invoke('approval-list', { status, limit: LIMITS.approvals }, signal),
  )
  const all = (await Promise.all(lists)).flat()
  const fits = wordTests(search)
  return all
    .toReversed()
    .map((request) => ({ request, more: wordsOf(request) }))
    .filter(({ request, more }) => fits(`${more} ${request.id} ${JSON.stringify(request.args)}`))
    .toSorted((a, b) => pendingFirst(a.request) - pendingFirst(b.request))
    .map(({ request, more }) => ({
      kind: 'approval',
      name: cut(request.title ?? request.skill, search),
      about: stateOf(request),
      more,
      isPending: request.status === 'pending',
      run: to('approvals', { id: request.id }),
      ...actOnRequest(request, verb),
    }))
}

/** Further words that find an approval, by its status. */
const WORDS_OF = { pending: 'waiting approve deny decide' }

function wordsOf({ title = '', skill, by, message, status }) {
  return `${title} ${skill} ${message?.from ?? ''} ${authorOf(by)} ${WORDS_OF[status] ?? ''}`
}

/** `denied by jonas, 14:32`, or since when it waits. */
function stateOf({ status, requestedAt, decidedBy, decidedAt, message }) {
  const who = message?.from ? `, ${message.from}` : ''
  if (decidedBy === undefined) return `${status}, asked ${ago(requestedAt)}${who}`
  return `${status} by ${authorOf(decidedBy)}, ${clockOf(decidedAt)}${who}`
}

/** Further words that find the cause of dead letters: `dead orders`. */
const WORDS_OF_DEAD = 'dead letters failed'

export async function causes(search, signal) {
  const fits = wordTests(search)
  const groups = await invoke('dead-letter-groups', {}, signal)
  return groups
    .filter(({ group, code, common }) => fits(`${group} ${code} ${common} ${WORDS_OF_DEAD}`))
    .map(({ queue, group, code, pattern, common, count }) => ({
      kind: 'dead letters',
      name: cut(`${group}: ${causeOf(common)}`, search),
      about: `${count.toLocaleString('en')} with this error`,
      more: `${code} ${WORDS_OF_DEAD}`,
      run: to('dead-letters', { queue, group, code, pattern }),
    }))
}

/** What `retry` and `cancel` are for; nothing without a verb. */
export async function messages(search, signal, verb) {
  const found = await messagesFor(verb, search, signal)
  return found.map(({ message: { gateway, from = {}, subject, summary, text, at }, ...act }) => ({
    kind: 'message',
    name: `${from.name || from.address || from.id || gateway}: ${cut(subject ?? summary ?? preview(text), search)}`,
    about: `${gateway}, ${ago(at)}`,
    ...act,
  }))
}

/** Jobs that can be cancelled; nothing without this verb. */
export async function jobs(search, signal, verb) {
  if (verb !== 'cancel') return []
  const fits = wordTests(search)
  const all = await invoke('job-list', { limit: LIMITS.jobs }, signal)
  return all
    .filter((job) => canCancel(job) && fits(`${aboutJob(job)} ${job.id} job`))
    .map((job) => ({
      kind: 'job',
      name: aboutJob(job),
      more: 'job',
      about: `${badgeOf(job).text} …${job.id.slice(-8)}`,
      prefix: 'Cancel',
      run: () => cancelJob(job, () => undefined),
    }))
}
