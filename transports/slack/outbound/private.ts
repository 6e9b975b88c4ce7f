import { TriviumError } from '../../../src/core/errors.ts'
import { parseJson, textAt } from '../../../src/core/json.ts'
import { SendPostponed } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { DEFAULT_LIMIT_SECONDS, fetchSlack, slackFailure } from '../api.ts'
import { responseRequest } from '../response-url.ts'
import { openDirect } from './find-posts.ts'
import { postAll, type Sending } from './posts.ts'

/** Errors of Slack if the bot or the viewer is not in the channel. */
const NO_ACCESS = /^(not_in_channel|user_not_in_channel|channel_not_found|is_archived|restricted_action)$/

/** Whether a reply is ephemeral: requested, or an answer to something that only one person saw. */
export function isPrivate({ fields, target }: Sending): boolean {
  return fields.ephemeral !== undefined || target.responseUrl !== undefined
}

/** The person who sees a private reply. Throws `send_rejected` if unknown. */
function viewerOf({ reply, fields, target }: Sending): string {
  const user = typeof fields.ephemeral === 'string' ? fields.ephemeral : target.user
  if (user !== undefined) return user
  const reason = 'it names no user who sees the ephemeral reply'
  throw new TriviumError('send_rejected', { gateway: reply.gateway, reason })
}

/**
 * Shows posts to one person: through the response URL while Slack accepts it, else as ephemeral
 * posts, and if the bot or the person is not in the channel, in their direct messages.
 */
export async function postPrivately(sending: Sending): Promise<void> {
  const { posts, sent, target, fields } = sending
  const { api } = sending.workspace
  const { channel, thread, startsThread } = target
  const user = viewerOf(sending)
  const url = user === target.user ? target.responseUrl : undefined
  sent.seenBy = user
  for (const [index, post] of posts.entries()) {
    const replacesClicked = fields.update === true && index === 0
    // "Ephemeral messages in threads are only shown if there is already an active thread."
    const body = { ...post, ...defined({ thread_ts: startsThread ? undefined : thread }) }
    try {
      if (url !== undefined && (await respond(url, body, replacesClicked))) sent.posted.push('response')
      else sent.posted.push((await api.chat.postEphemeral({ channel, user, ...body })).message_ts ?? '')
    } catch (error) {
      if (!hasNoAccess(error)) throw error
      return postAll(sending, { channel: await directChannel(sending) })
    }
  }
}

/**
 * The direct message channel with the answered person. Throws `send_rejected` for another viewer: a
 * skill may show something to others in the channel, but must not message people who did not write.
 */
export async function directChannel(sending: Sending): Promise<string> {
  const { reply, target, workspace } = sending
  const user = viewerOf(sending)
  if (user === target.user) return openDirect(user, workspace)
  const reason = `${user} cannot see an ephemeral reply in ${target.channel}, and direct messages go only to the person who is answered`
  throw new TriviumError('send_rejected', { gateway: reply.gateway, reason })
}

/** Whether a post was refused because the bot or the viewer is not in the channel. */
export function hasNoAccess(error: unknown): boolean {
  return NO_ACCESS.test(slackFailure(error).code)
}

/**
 * Answers through a response URL (https://docs.slack.dev/interactivity/handling-user-interaction),
 * which also works in channels without the bot. Only the person who typed or clicked sees it.
 * `replacesClicked`: whether it replaces the post that was clicked. Resolves with false if Slack
 * refuses, usually because the URL was used five times or is older than 30 minutes. Other causes
 * show when the reply is then sent in another way.
 */
async function respond(url: string, body: object, replacesClicked: boolean): Promise<boolean> {
  const answerBody = { response_type: 'ephemeral', replace_original: replacesClicked, ...body }
  const response = await fetchSlack(url, responseRequest(answerBody))
  const answer = await response.text()
  const { status } = response
  if (status === 429) {
    const seconds = Number(response.headers.get('retry-after')) || DEFAULT_LIMIT_SECONDS
    throw new SendPostponed(seconds * 1000)
  }
  // Slack answers `ok`, or JSON that may contain an error, also with status 200.
  if (status < 500) return response.ok && textAt(parseJson(answer), 'error') === undefined
  throw new Error(`the response URL answered ${status}`)
}
