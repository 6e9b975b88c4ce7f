import { invoke } from './api.js'
import { changes } from './live.js'
import { act, ask } from './parts.js'
import { reportRetry } from './retry.js'

/**
 * Asks, and retries a dead message. `done` is called once it is being retried, and when its outcome
 * is known.
 */
export async function retryMessage({ id, gateway }, done) {
  const body = `It goes back to the end of its conversation in “${gateway}”, with fresh attempts.`
  if (!(await ask({ title: 'Try this message again?', body, action: 'Retry' }))) return
  const began = Date.now()
  const isRetried = await act(async () => {
    await invoke('dead-letter-retry', { id })
    changes.dead.value++
    return 'It is being retried.'
  })
  if (isRetried)
    void reportRetry({
      began,
      many: 1,
      isWanted: (each) => each.id === id,
      letters: [{ id, queue: 'dispatch' }],
      done,
    })
  done?.()
}
