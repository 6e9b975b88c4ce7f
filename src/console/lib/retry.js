import { signal } from '@preact/signals'
import { defined } from '../../lib/defined.ts'
import { IN_PROGRESS, OUTCOMES } from '../../lib/outcomes.ts'
import { invoke } from './api.js'
import { causeOf } from './cause.js'
import { Texts } from './drop-letters.js'
import { html } from './html.js'
import { changes } from './live.js'
import { Age, act, ask, say, span } from './parts.js'
import { pausesNote } from './retry-pauses.js'
import { link } from './router.js'
import { startedJobs } from './started-jobs.js'
import { count } from './troubles.js'

/** How long (ms) to watch for retried letters that die again, and how often. */
const WATCH = { for: 30_000, every: 1_000 }
/** Delay (ms) before `done` is called: by then, the list has received the last change. */
const SHOWN_AFTER = 600
/** Maximum number of letters to read. */
const MAX_LETTERS = 500
/** Maximum number of letter ids per job. */
const MAX_OF_JOB = 500
/** Maximum number of messages whose outcomes are read. */
const MAX_OUTCOMES_READ = 10
/** Outcomes that end a retry. A message that fails again is found among the dead letters. */
const ENDED = new Set(OUTCOMES).difference(new Set([...IN_PROGRESS, 'dead']))

/**
 * Retries a dead letter (`{ id, queue, text }`). Several are retried as a job per queue, after a
 * question. Resolves with whether they are being retried. `done`: called when the outcome of a single
 * one is known. `of`: the filter of the letters.
 */
export async function retryLetters(letters, done, of, note) {
  const many = letters.length
  if (many > 1 && !(await agrees(letters, of, note))) return false
  const began = Date.now()
  return act(async () => {
    if (many > 1) {
      const byQueue = Object.entries(Object.groupBy(letters, ({ queue }) => queue))
      for (const [queue, some] of byQueue)
        for (let at = 0; at < some.length; at += MAX_OF_JOB)
          await retryChosen(queue, some.slice(at, at + MAX_OF_JOB), of)
      startedJobs.value++
      changes.dead.value++
      forgetRetry(of)
      const ids = new Set(letters.map(({ id }) => id))
      // The pages of dead letters show the job with its outcomes.
      if (!of) void reportRetry({ began, many, isWanted: ({ id }) => ids.has(id), letters, done })
      return `Began to retry ${count(many, 'dead letter')}.`
    }
    const [{ id, queue }] = letters
    await invoke('dead-letter-retry', { id, ...(queue && { queue }) })
    changes.dead.value++
    void reportRetry({ began, many, isWanted: (letter) => letter.id === id, letters, done, of })
    return '1 dead letter is being retried …'
  })
}

/** Adds the cause of the list to the job, so that the job is shown with it. */
function retryChosen(queue, letters, { group, code, pattern } = {}) {
  const ids = letters.map(({ id }) => id)
  return invoke('dead-letter-bulk', { do: 'retry', ...defined({ queue, group, code, pattern }), ids })
}

/** Asks whether to retry several letters. */
async function agrees(letters, of = {}, note = null) {
  const [{ queue }] = letters
  const pauses = await pausesNote({ queue, ...of, letters })
  const body = html`<p>They go back to the end of their lanes, with fresh attempts.</p>${pauses}${note}
    <${Texts} of=${letters} />`
  return ask({ title: `Retry ${count(letters.length, 'dead letter')}?`, body, action: 'Retry' })
}

/**
 * The last retry of this tab: `{ at, text, kind, message, of }`, with the id of a single message,
 * and the filter of its letters. Its text changes with the outcome.
 */
const lastRetry = signal()

/** The keys of a filter that name a kind of dead letters. */
const KIND = ['queue', 'group', 'code', 'pattern']

/** What became of the last retry; with the filter `of`, only if it was one of these letters. */
export function LastRetry({ of }) {
  const { value } = lastRetry
  if (!value) return null
  if (of && KIND.some((key) => of[key] && of[key] !== value.of[key])) return null
  return html`<p role="status" class=${value.kind === 'bad' ? 'error' : 'dim'}>${value.text} ${value.message && html`<a href=${link(['messages', value.message])}>See the message</a> `}<span class="dim">(retried <${Age} at=${value.at} /> ago)</span></p>`
}

/** Forgets the shown result of an earlier retry, because a job now retries or drops these letters. */
export function forgetRetry(of = {}) {
  const { value } = lastRetry
  if (value && KIND.every((key) => !of[key] || !value.of[key] || of[key] === value.of[key]))
    lastRetry.value = undefined
}

/** The outcomes of messages now. */
async function outcomesOf(ids) {
  const shown = await Promise.all(ids.map((id) => invoke('message-show', { id }).catch(() => ({}))))
  return shown.map(({ outcome }) => outcome)
}

/**
 * Says that the attempts on retried messages failed again and are followed by others. Undefined if
 * one has not ended that way since `began`.
 */
async function failedAttempts(ids, began) {
  const attempts = await invoke('message-attempts', { ids }).catch(() => [])
  const hasFailed = ({ outcome, at, error }) => outcome === 'retrying' && at >= began && error !== undefined
  if (attempts.length < ids.length || !attempts.every(hasFailed)) return undefined
  const next = Math.min(...attempts.map(({ nextAt }) => nextAt))
  const again = Number.isFinite(next)
    ? ` The next attempt begins in ${span(Math.max(0, next - Date.now()))}.`
    : ''
  const reasons = [...new Set(attempts.map(({ error }) => causeOf(error)))]
  return `Retried, and failed again: ${reasons[0]}${reasons.length > 1 ? ' …' : ''}.${again}`
}

/** The last error of the first of some dead letters. */
function reasonOf([letter = {}]) {
  const error = letter.errors?.at(-1)?.message ?? letter.reason
  return error === undefined ? '' : ` ${causeOf(error)}`
}

/** `2 done, 1 approval`, or only the outcome of one. */
function tally(outcomes) {
  if (outcomes.length === 1) return outcomes[0] ?? 'unknown'
  const counts = Object.groupBy(outcomes, (outcome) => outcome ?? 'unknown')
  return Object.entries(counts)
    .map(([outcome, { length }]) => `${length} ${outcome}`)
    .join(', ')
}

/**
 * Shows the outcomes of retried letters once all have ended, or after a while. `of`: the filter of
 * their kind, if all have the same. `letters`: the letters (`{ id, queue }`), if they are known.
 */
export async function reportRetry({ of = {}, began, many, isWanted = () => true, letters = [], done }) {
  const { queue, group } = of
  const filter = { queue, group, since: new Date(began).toISOString(), limit: MAX_LETTERS }
  const ids = letters.flatMap(({ id, queue }) => (queue === 'dispatch' ? [id] : []))
  const canRead = ids.length === many && many <= MAX_OUTCOMES_READ
  const message = many === 1 ? ids[0] : undefined
  const show = (text, kind) => {
    lastRetry.value = { at: began, text, kind, message, of }
  }
  const showEnd = (text, kind) => {
    changes.dead.value++
    setTimeout(() => done?.(), SHOWN_AFTER)
    show(text, kind)
    say(text, kind, message && link(['messages', message]))
  }
  show(`${count(many, 'dead letter')} ${many === 1 ? 'is' : 'are'} being retried …`)
  const failedAgain = async () => (await invoke('dead-letter-list', filter).catch(() => [])).filter(isWanted)
  for (const end = Date.now() + WATCH.for; Date.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, WATCH.every))
    const again = await failedAgain()
    if (again.length >= many) {
      const text = `Retried, and failed again: ${count(again.length, 'dead letter')}.${reasonOf(again)}`
      return showEnd(text, 'bad')
    }
    const failed = canRead && (await failedAttempts(ids, began))
    if (failed) return showEnd(failed, 'bad')
    const outcomes = canRead ? await outcomesOf(ids) : [undefined]
    if (outcomes.every((outcome) => ENDED.has(outcome)))
      return showEnd(`${count(many, 'message')} retried: ${tally(outcomes)}.`)
  }
  const left = await failedAgain()
  if (left.length > 0)
    showEnd(`Of ${many} retried, ${count(left.length, 'message')} failed again.${reasonOf(left)}`, 'bad')
  else if (canRead) showEnd(`${count(many, 'message')} retried; by now: ${tally(await outcomesOf(ids))}.`)
  else showEnd(`${count(many, 'message')} retried; none has failed again so far.`)
}
