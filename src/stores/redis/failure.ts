import { TriviumError } from '../../core/errors.ts'

/**
 * What went wrong in a call to Redis, as an error of the catalogue: `store_unavailable` for everything
 * that may pass (the connection, a timeout, a restart, a failover, full memory), `store_unreadable` where
 * keys hold something that Trivium did not write.
 */
export function toStoreError(error: unknown, address: string): TriviumError {
  if (error instanceof TriviumError) return error
  const text = error instanceof Error ? error.message : String(error)
  const known = REASONS.find(([pattern]) => pattern.test(text))
  if (known) {
    return new TriviumError('store_unavailable', { store: address, reason: known[1] }, { cause: error })
  }
  const code = /WRONGTYPE|data string too short/.test(text) ? 'store_unreadable' : 'internal'
  return new TriviumError(code, { store: address, reason: text }, { cause: error })
}

/** True for an error of Redis that says a script is not loaded, as after a restart or a failover. */
export function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

const REASONS: [RegExp, string][] = [
  [/LOADING/, 'it is loading its data after a restart'],
  [/READONLY/, 'it is a replica; a failover may be under way'],
  [/\bOOM\b/, 'it is out of memory (maxmemory)'],
  [/MISCONF/, 'it cannot persist to its disk and refuses writes (MISCONF)'],
  [/CLUSTERDOWN|Cluster isn't ready|Failed to refresh slots/, 'the cluster is down or not complete'],
  [/MASTERDOWN|NOREPLICAS/, 'its replication is not in the state that it demands'],
  [/TRYAGAIN|MOVED|ASK|redirections/, 'the cluster is moving slots'],
  [/BUSY/, 'it is busy with a script'],
  [/NOAUTH|WRONGPASS|NOPERM/, 'it refuses the user, the password or a permission'],
  [/timed out|ETIMEDOUT/, 'it did not answer in time'],
  [
    /Stream isn't writeable|Connection is closed|ECONN|EPIPE|ENOTFOUND|EHOSTUNREACH|EAI_AGAIN/,
    'no connection',
  ],
  [
    /max retries per request|aborted due to connection|All sentinels are unreachable/i,
    'the connection broke',
  ],
]
