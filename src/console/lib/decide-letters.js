import { invoke } from './api.js'
import { askReason } from './ask-reason.js'
import { html } from './html.js'
import { act, ask } from './parts.js'
import { forgetRetry, reportRetry } from './retry.js'
import { pausesNote } from './retry-pauses.js'
import { startedJobs } from './started-jobs.js'
import { count } from './troubles.js'

/** Maximum number of letters to read. */
export const MAX_LETTERS = 500
/** Up to this many dead letters are handled without a job. Jobs of retries record outcomes. */
const AT_ONCE = { retry: 1, drop: 200 }

const EFFECTS = {
  retry: 'They go back to the end of their lanes, with fresh attempts.',
  drop: 'They are removed permanently. Nobody gets them any more.',
}

/**
 * Retries or drops all dead letters that match a filter, after a dialog with their number (`many`)
 * and reasons. `of`: where they are. `common`: their common error. `range`: the times of the shown
 * letters; newer ones are not included. `note`: an additional text. `isJob`: a single letter starts
 * a job, too. `done`: called afterwards, with the job if there is one.
 */
export async function decideLetters({ verb, filter, range, many, of, common, note, title, isJob, done }) {
  const shown = { ...filter, ...range }
  const letters = await invoke('dead-letter-list', { ...shown, limit: MAX_LETTERS }).catch(() => [])
  const pauses = verb === 'retry' && (await pausesNote({ ...filter, letters }))
  const body = html`<p>${EFFECTS[verb]}</p>${pauses}${note}<p>${count(many, 'dead letter')}${of && ` of “${of}”`}:</p><${Reasons} letters=${letters} many=${many} common=${common} />`
  const action = verb === 'drop' ? 'Drop' : 'Retry'
  const all = many === 1 ? 'the dead letter' : `all ${count(many, 'dead letter')}`
  const question = { title: title ?? `${action} ${all}?`, body, action, danger: verb === 'drop' }
  const why = verb === 'drop' ? await askReason(question) : (await ask(question)) && {}
  if (!why) return
  const began = Date.now()
  let job
  await act(async () => {
    if (isJob || many > AT_ONCE[verb]) {
      const until = range && { asOf: range.until }
      job = await beginJob({ do: verb, ...filter, ...until, ...why })
      forgetRetry(filter)
      // Also true after the job has ended. The page shows its progress.
      return `Began to ${verb} ${count(many, 'dead letter')}.`
    }
    let sum = 0
    for (let more = true; more; ) {
      const answer = await invoke(`dead-letter-${verb}`, { all: true, ...shown, ...why })
      sum += answer.count
      more = answer.more
    }
    if (verb === 'drop') return `${count(sum, 'dead letter')} dropped.`
    void reportRetry({ of: filter, began, many: sum, letters, done })
    return `${count(sum, 'dead letter')} ${sum === 1 ? 'is' : 'are'} being retried …`
  })
  done?.(job)
}

/** The time range of the shown dead letters, so that actions leave out newer ones. */
export const rangeOf = (oldest, newest) => ({
  since: new Date(oldest).toISOString(),
  until: new Date(newest + 1).toISOString(),
})

/** Starts a job and refreshes the lists of jobs and retries. */
async function beginJob(args) {
  const { job } = await invoke('dead-letter-bulk', args)
  startedJobs.value++
  return job
}

/** Maximum number of reasons shown. */
const MAX_REASONS = 6

/** Why letters failed: each reason once, with its count. */
function Reasons({ letters, many, common }) {
  const counts = new Map()
  for (const letter of letters) counts.set(errorOf(letter), (counts.get(errorOf(letter)) ?? 0) + 1)
  const sorted = [...counts].toSorted(([, a], [, b]) => b - a)
  if (common && sorted.length > MAX_REASONS)
    return html`<ul class="reasons"><li><b>${many.toLocaleString('en')} ×</b> ${common}</li></ul>`
  const others = sorted.length - MAX_REASONS
  return html`<ul class="reasons">${sorted.slice(0, MAX_REASONS).map(([error, times]) => html`<li key=${error}><b>${times} ×</b> ${error}</li>`)}
    ${others > 0 && html`<li class="dim">and ${count(others, 'other reason')}</li>`}</ul>`
}

/** The last error of a letter. */
export const errorOf = ({ errors, reason }) => errors.at(-1)?.message ?? reason
