import { isPartOfId } from '../../lib/is-part-of-id.ts'
import { invoke } from './api.js'
import { aboutJob, badgeOf } from './job-words.js'
import { preview, useLoaded } from './parts.js'
import { go } from './router.js'

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** Whether a text is the whole id of a message. */
export const isId = (text) => ID.test(text)

const to = (id) => () => go(['messages', id])

/** The message of a whole id, which need not be known here. */
export function idEntries(text) {
  return isId(text) ? [{ kind: 'message', name: text, run: to(text.toLowerCase()) }] : []
}

/** The beginning of an id: the first digits of the time of its message, in hexadecimal. */
const ID_START = /^([0-9a-f]{8})(?:-([0-9a-f]{0,4})(?:-[0-9a-f-]*)?)?$/i
const TIME_DIGITS = 12
/** Maximum number of messages or jobs that are searched: the short beginning of an id fits many. */
const MAX_SEARCHED = 200
const MAX_SHOWN = 6

/** The newest messages whose ids begin or end with a part. */
async function withId(id, signal) {
  return (await invoke('message-search', { id, limit: MAX_SHOWN }, signal)).messages
}

/** The newest jobs whose ids begin or end with a part. */
async function jobsWith(id, signal) {
  const jobs = await invoke('job-list', { limit: MAX_SEARCHED }, signal)
  return jobs
    .filter((job) => isPartOfId(job.id, id))
    .map((job) => ({
      kind: 'job',
      name: aboutJob(job),
      about: `${badgeOf(job).text} …${job.id.slice(-8)}`,
      run: () => go(['jobs', job.id]),
    }))
}

/** Jobs and messages whose ids begin with the text, or end with it, as lists show them. */
export function useIdMatches(text) {
  const [, first] = isId(text) ? [] : (ID_START.exec(text) ?? [])
  const { value: jobs = [] } = useLoaded(
    async (signal) => (first === undefined ? [] : jobsWith(text, signal)),
    [text],
  )
  return [...jobs, ...useMessageMatches(text)].slice(0, MAX_SHOWN)
}

function useMessageMatches(text) {
  const [, first, second = ''] = isId(text) ? [] : (ID_START.exec(text) ?? [])
  const { value } = useLoaded(
    async (signal) => {
      if (first === undefined) return []
      const id = text.toLowerCase()
      const ends = second === '' ? await withId(id, signal) : []
      const digits = first + second
      const at = Number.parseInt(digits.padEnd(TIME_DIGITS, '0'), 16)
      const until = Number.parseInt(digits.padEnd(TIME_DIGITS, 'f'), 16) + 1
      if (at > Date.now()) return ends
      const range = { since: new Date(at).toISOString(), until: new Date(until).toISOString() }
      const { messages } = await invoke('message-search', { ...range, limit: MAX_SEARCHED }, signal)
      const begins = messages.filter((message) => message.id.startsWith(id))
      return [...new Map([...begins, ...ends].map((message) => [message.id, message])).values()]
    },
    [text],
  )
  return (value ?? []).slice(0, MAX_SHOWN).map(({ id, subject, summary, text: content }) => ({
    kind: 'message',
    name: id,
    about: (subject ?? summary ?? preview(content)).slice(0, 60),
    run: to(id),
  }))
}
