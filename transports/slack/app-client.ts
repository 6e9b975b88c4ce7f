import { WebClient } from '@slack/web-api'
import type { Log } from '../../src/core/log.ts'
import { quietLogger } from './api.ts'

/** A client for what an app-level token may call. Its calls are not repeated, and end when `signal` aborts. */
export function createAppClient(options: {
  appToken: string
  apiUrl: string
  /** ms */
  timeout: number
  log: Log
  signal?: AbortSignal
}): WebClient {
  const { signal } = options
  return new WebClient(undefined, {
    slackApiUrl: options.apiUrl,
    headers: { Authorization: `Bearer ${options.appToken}` },
    timeout: options.timeout,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    logger: quietLogger(options.log),
    fetch: (url, init) =>
      fetch(
        url,
        signal
          ? { ...init, signal: AbortSignal.any([signal, ...(init?.signal ? [init.signal] : [])]) }
          : init,
      ),
  })
}
