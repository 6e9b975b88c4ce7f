import { TriviumError } from '../../../src/core/errors.ts'
import { parseJson, textAt } from '../../../src/core/json.ts'
import { SendPostponed } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { CALL_TIMEOUT, fetchSlack, slackFailure } from '../api.ts'
import { openDirect } from './find-posts.ts'
import { postAll, type Sending } from './posts.ts'

/** Slack's ways to say that the bot, or who should see it, is not in the channel. */
const SHUT_OUT = /^(not_in_channel|user_not_in_channel|channel_not_found|is_archived|restricted_action)$/

/** Whether only one person may see it: it was asked for, or it answers what nobody else saw. */
export function isPrivate({ extras, target }: Sending): boolean {
  return extras.ephemeral !== undefined || target.responseUrl !== undefined
}

/** Who alone may see it. Throws `send_rejected` where nobody is named. */
function viewerOf({ reply, extras, target }: Sending): string {
  const user = typeof extras.ephemeral === 'string' ? extras.ephemeral : target.user
  if (user !== undefined) return user
  const reason = 'nobody is named to see the ephemeral reply'
  throw new TriviumError('send_rejected', { gateway: reply.gateway, reason })
}

/**
 * Shows the posts to one person: by the response URL of what is answered, while Slack takes it; then as ephemeral posts; and
 * where the bot or they are not in the channel, in the direct messages with them.
 */
export async function whisper(sending: Sending): Promise<void> {
  const { posts, sent, target } = sending
  const { api } = sending.workspace
  const { channel, thread, startsThread } = target
  const user = viewerOf(sending)
  const url = user === target.user ? target.responseUrl : undefined
  sent.seenBy = user
  for (const shown of posts) {
    // "Ephemeral messages in threads are only shown if there is already an active thread."
    const body = { ...shown, ...defined({ thread_ts: startsThread ? undefined : thread }) }
    try {
      if (url !== undefined && (await respond(url, body))) sent.posted.push('response')
      else sent.posted.push((await api.chat.postEphemeral({ channel, user, ...body })).message_ts ?? '')
    } catch (error) {
      if (!isShutOut(error)) throw error
      return postAll(sending, { channel: await directChannel(sending) })
    }
  }
}

/**
 * The direct messages with who is answered. Throws `send_rejected` where somebody else should see it: a skill may show
 * something to others in the channel, and writes to nobody who did not write.
 */
export async function directChannel(sending: Sending): Promise<string> {
  const { reply, target, workspace } = sending
  const user = viewerOf(sending)
  if (user === target.user) return openDirect(user, workspace)
  const reason = `${user} cannot be shown that in ${target.channel}, and only who is answered is written to directly`
  throw new TriviumError('send_rejected', { gateway: reply.gateway, reason })
}

/** Whether a post was refused since the bot, or who should see it, cannot be reached in that channel. */
export function isShutOut(error: unknown): boolean {
  return SHUT_OUT.test(slackFailure(error).code)
}

/**
 * Answers at a response URL (https://docs.slack.dev/interactivity/handling-user-interaction), which works in channels
 * that the bot is not in. Only who typed or clicked sees it. False: Slack does not take it: mostly as the URL was used too
 * often (five times) or for too long (30 minutes), and otherwise the next way says what is wrong.
 */
async function respond(url: string, body: object): Promise<boolean> {
  const response = await fetchSlack(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    // What was clicked stays as it is.
    body: JSON.stringify({ response_type: 'ephemeral', replace_original: false, ...body }),
    signal: AbortSignal.timeout(CALL_TIMEOUT),
    redirect: 'error',
  })
  const answer = await response.text()
  const { status } = response
  if (status === 429) throw new SendPostponed((Number(response.headers.get('retry-after')) || 30) * 1000)
  // Slack answers `ok`, or JSON with or without an error, also with status 200.
  if (status < 500) return response.ok && textAt(parseJson(answer), 'error') === undefined
  throw new Error(`the response URL answered ${status}`)
}
