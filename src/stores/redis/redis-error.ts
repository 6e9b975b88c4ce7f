import { TriviumError } from '../../core/errors.ts'

/**
 * Converts a failed call: `store_unavailable` for temporary failures (connection, timeout, restart,
 * failover, full memory), `store_unreadable` for keys with foreign content.
 */
export function toStoreError(error: unknown, address: string): TriviumError {
  if (error instanceof TriviumError) return error
  const text = error instanceof Error ? error.message : String(error)
  const reason = NO_CONNECTION.test(text)
    ? 'no connection'
    : text.replace(/.*timed out.*/, 'it did not answer in time').replace(/\.+$/, '')
  const foreign = /WRONGTYPE|data string too short/.test(text) ? 'store_unreadable' : 'internal'
  const code = MAY_PASS.test(reason) ? 'store_unavailable' : foreign
  return new TriviumError(code, { store: address, reason }, { cause: error })
}

/** Whether a command failed before it was sent, like all commands while disconnected. */
export function wasNotSent(error: TriviumError): boolean {
  return error.cause instanceof Error && error.cause.message.includes('enableOfflineQueue options is false')
}

/** Errors of ioredis and the system, in contrast to replies of Redis. */
const NO_CONNECTION =
  /Stream isn't writeable|onnection is closed|ECONN|ETIMEDOUT|EPIPE|ENOTFOUND|EHOSTUNREACH|EAI_AGAIN|max retries per request|aborted due to connection/
/** Failures that may pass without a change to the data. */
const MAY_PASS =
  /no connection|it did not answer|All sentinels|Cluster isn't ready|refresh slots|redirections|LOADING|READONLY|\bOOM\b|MISCONF|CLUSTERDOWN|MASTERDOWN|NOREPLICAS|UNBLOCKED|replica instances|TRYAGAIN|MOVED|ASK|EMPTY|has given up|BUSY|NOAUTH|WRONGPASS|NOPERM|user executing the script|certificate|altnames|SSL/
