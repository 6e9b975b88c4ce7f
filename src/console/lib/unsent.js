import { invoke } from './api.js'
import { now } from './live.js'
import { useLoaded } from './parts.js'

const MAX_LETTERS = 200

/** The newest replies and mails that were not delivered, as dead letters. */
export function useUnsent() {
  const { dead = 0 } = now.value?.roads?.find(({ road }) => road === 'outbox') ?? {}
  const { value = [] } = useLoaded(
    async (signal) =>
      dead > 0 ? invoke('dead-letter-list', { queue: 'outbox', limit: MAX_LETTERS }, signal) : [],
    [dead],
  )
  return value
}
