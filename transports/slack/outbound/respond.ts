import type { KnownBlock } from '@slack/web-api'
import { TriviumError } from '../../../src/core/errors.ts'

/**
 * Answers a slash command at its response URL (https://docs.slack.dev/interactivity/handling-user-interaction), which
 * works in channels that the bot is not in. Only who typed the command sees it. Throws `send_rejected` where Slack
 * refuses, `send_ambiguous` where it cannot be told whether it arrived: nothing can be read back there.
 */
export async function respond(options: {
  gateway: string
  key: string
  url: string
  text: string
  blocks?: KnownBlock[]
  timeout: number
}): Promise<void> {
  const { gateway, key, url, text, blocks } = options
  const body = JSON.stringify({ response_type: 'ephemeral', text, blocks })
  const headers = { 'content-type': 'application/json' }
  let response: Response
  try {
    const signal = AbortSignal.timeout(options.timeout)
    response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' })
  } catch (cause) {
    const reason = 'the response URL did not answer'
    throw new TriviumError('send_ambiguous', { gateway, key, reason }, { cause })
  }
  await response.body?.cancel()
  if (response.ok) return
  const reason = `the response URL answered ${response.status}`
  if (response.status === 429) throw new TriviumError('send_failed', { gateway, reason })
  throw new TriviumError(response.status < 500 ? 'send_rejected' : 'send_ambiguous', { gateway, key, reason })
}
