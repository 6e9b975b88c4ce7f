import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { changes } from '../lib/live.js'
import { act, useOnce } from '../lib/parts.js'

/** What *Stop* did, by the outcome before. */
const STOPPED = {
  running: 'The test ends without another attempt.',
  retrying: 'The test ends without another attempt.',
  waiting: 'The test ends. No skill ran for it.',
  approval: 'The test ends. Its request is denied.',
}

/** Ends a test that fails, runs or waits, without another attempt and without a dead letter. */
export function Stop({ id, outcome, isSmall, done }) {
  const [isBusy, once] = useOnce()
  const isDead = outcome === 'dead'
  if (!isDead && !STOPPED[outcome]) return null
  const stop = () =>
    act(async () => {
      const result = isDead
        ? await invoke('dead-letter-drop', { id, queue: 'dispatch', reason: REASON })
        : await invoke('run-cancel', { messageId: id, drop: true, reason: REASON })
      changes.dead.value++
      if (isDead) return 'The dead letter of the test is dropped.'
      return result.cancelled ? STOPPED[outcome] : `The test was not stopped; it is ${result.outcome}.`
    }).then(done)
  return html`<button changes type="button" class=${isSmall ? 'small' : ''} aria-disabled=${isBusy} onClick=${() => once(stop)}>${isDead ? 'Drop' : 'Stop'}</button>`
}

const REASON = 'the test is no longer needed'
