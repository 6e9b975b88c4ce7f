import { CALL_TIMEOUT } from './api.ts'

/**
 * The request that posts to a response URL. It follows no redirect, which could lead to another
 * host, and ends after the time limit of calls.
 */
export function responseRequest(body: unknown) {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(CALL_TIMEOUT),
    redirect: 'error',
  } as const
}
