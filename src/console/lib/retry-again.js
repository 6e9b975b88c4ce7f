import { handledSince } from '../../lib/later-word.ts'
import { invoke } from './api.js'
import { decideLetters } from './decide-letters.js'
import { html } from './html.js'
import { act } from './parts.js'
import { go } from './router.js'
import { count } from './troubles.js'

/** Retries, as a job, the dead letters that an ended retry left. Null if it left none. */
export function RetryAgain({ of: job }) {
  const { dead = 0, withdrawn = 0 } = job.outcomes
  const handled = handledSince(job.later)
  const [failed, left] = [dead - handled.failed, withdrawn - handled.withdrawn]
  if (job.state === 'running' || job.withdrawing || failed + left === 0) return null
  const which =
    left > 0
      ? 'its dead letters'
      : `the ${failed === 1 ? 'one' : failed.toLocaleString('en')} that failed again`
  return html`<button changes type="button" class="small" onClick=${() => retryAgain(job)}>Retry ${which} …</button>`
}

async function retryAgain({ id, target: { queue, group } }) {
  const filter = Object.fromEntries(Object.entries({ job: id, queue, group }).filter(([, value]) => value))
  await act(async () => {
    const causes = await invoke('dead-letter-groups', filter)
    const many = causes.reduce((sum, each) => sum + each.count, 0)
    if (many === 0) return 'None of them is a dead letter any more.'
    const title = `Retry ${count(many, 'dead letter')} again?`
    const done = (job) => job && go(['jobs', job.id])
    await decideLetters({ verb: 'retry', filter, many, title, isJob: true, done })
    return undefined
  })
}
