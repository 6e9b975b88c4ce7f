import { invoke } from './api.js'
import { now } from './live.js'
import { useLoaded } from './parts.js'

/** Maximum number of letters. */
export const MAX_UNSENT = 200

/**
 * The newest replies and mails of a gateway that were not delivered, as dead letters. With
 * `message`, only the replies to it; false: none.
 */
export function useUnsent({ gateway, message }) {
  const { dead = 0 } = now.value?.roads?.find(({ road }) => road === 'outbox') ?? {}
  const filter = { queue: 'outbox', group: gateway, ...(message && { message }), limit: MAX_UNSENT }
  const { value = [] } = useLoaded(
    async (signal) => (dead > 0 && message !== false ? invoke('dead-letter-list', filter, signal) : []),
    [dead, gateway, message],
  )
  return value
}
