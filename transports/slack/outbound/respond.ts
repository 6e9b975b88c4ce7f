import type { KnownBlock } from '@slack/web-api'
import { TriviumError } from '../../../src/core/errors.ts'
import { SendPostponed } from '../../../src/core/transport.ts'
import { textAt } from '../fields.ts'

/** What Slack says of a response URL that was used too often, or for too long. */
const GONE = new Set(['used_url', 'expired_url', 'url_not_found', 'no_service'])
/** Slack answers a line; what is longer comes from somewhere else. */
const LONGEST_ANSWER = 2000

/**
 * Answers a slash command or a click at its response URL
 * (https://docs.slack.dev/interactivity/handling-user-interaction), which works in channels that the bot is not in.
 * Only who typed or clicked sees it. False: Slack does not know the URL, or no longer. Throws `send_rejected` where Slack
 * refuses, `send_ambiguous` where it cannot be told whether it arrived: nothing can be read back there. Throws
 * `SendPostponed` over Slack's rate limit.
 */
export async function respond(options: {
  gateway: string
  key: string
  url: string
  text: string
  thread?: string
  blocks?: KnownBlock[]
  timeout: number
}): Promise<boolean> {
  const { gateway, key, url, text, thread, blocks } = options
  const body = JSON.stringify({
    response_type: 'ephemeral',
    // What was clicked stays as it is.
    replace_original: false,
    text,
    blocks,
    thread_ts: thread,
  })
  const headers = { 'content-type': 'application/json' }
  let response: Response
  let answer: string
  try {
    const signal = AbortSignal.timeout(options.timeout)
    response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' })
    answer = (await response.text()).slice(0, LONGEST_ANSWER)
  } catch (cause) {
    const reason = 'the response URL did not answer'
    throw new TriviumError('send_ambiguous', { gateway, key, reason }, { cause })
  }
  const fault = faultIn(answer)
  if (response.ok && fault === undefined) return true
  if (response.status === 404 || response.status === 410 || GONE.has(fault ?? answer.trim())) return false
  const reason = `the response URL answered ${response.status}${fault === undefined ? '' : ` ${fault}`}`
  if (response.status === 429) throw new SendPostponed(secondsIn(response.headers.get('retry-after')) * 1000)
  throw new TriviumError(response.status < 500 ? 'send_rejected' : 'send_ambiguous', { gateway, key, reason })
}

function secondsIn(retryAfter: string | null): number {
  const seconds = Number(retryAfter)
  return seconds > 0 ? seconds : 30
}

/** Slack answers `ok`, or JSON with or without an error, also with status 200. */
function faultIn(answer: string): string | undefined {
  if (!answer.startsWith('{')) return undefined
  try {
    const parsed: unknown = JSON.parse(answer)
    return textAt(parsed, 'error')
  } catch {
    return undefined
  }
}
