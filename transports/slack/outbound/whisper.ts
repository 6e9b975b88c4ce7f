import { TriviumError } from '../../../src/core/errors.ts'
import type { Target } from '../conversation.ts'
import { mayHaveArrived, slackFailure } from '../failure.ts'
import type { Workspace } from '../workspaces.ts'
import type { Directs } from './directs.ts'
import { type Content, postAll } from './post.ts'
import { respond } from './respond.ts'
import type { Progress, SentLog } from './sent-log.ts'

/** https://docs.slack.dev/interactivity/handling-user-interaction: "up to 5 times within 30 minutes". */
const MAX_RESPONSES = 5

/** Slack's ways to say that the bot, or who should see it, is not in the channel. */
const SHUT_OUT = new Set([
  'not_in_channel',
  'user_not_in_channel',
  'channel_not_found',
  'is_archived',
  'restricted_action',
])

type Whispering = {
  key: string
  content: Content
  /** Who sees it, and nobody else. */
  user: string
  workspace: Workspace
  target: Target
  /** What was shown already; grows with every part. */
  progress: Progress
  /** Keeps `progress`. */
  save(): Promise<void>
}

type WhisperDeps = { gateway: string; sent: SentLog; directs: Directs; timeout: number; now(): number }

/**
 * Shows to one person, and to nobody else, the parts that were not shown yet: by the response URL of the command or
 * click that is answered, while Slack takes it; then as ephemeral posts; and where the bot or they are not in the
 * channel, in the direct messages with them. Only the last can be read back, so before each of the others it is noted
 * that it is `unconfirmed`. Throws `send_rejected` where only direct messages would reach somebody else than who is
 * answered: a skill may show something to others in the channel, and writes to nobody who did not write.
 */
export async function whisper(whispering: Whispering, deps: WhisperDeps): Promise<void> {
  const { content, user, workspace, target, progress, save } = whispering
  progress.seenBy = user
  while (progress.direct === undefined && progress.posted.length < content.parts.length) {
    const shown = await showNext(whispering, deps)
    if (shown === undefined) {
      requireAnswered(user, target, deps.gateway)
      progress.direct = await deps.directs.channelOf(user, workspace)
    } else progress.posted.push(shown)
    await save()
  }
  if (progress.direct !== undefined) {
    await postAll({ ...whispering, target: { team: target.team, channel: progress.direct } })
  }
}

/** Throws `send_rejected` for anybody but who is answered: nobody else is written to directly. */
export function requireAnswered(user: string, { channel, user: answered }: Target, gateway: string): void {
  if (user === answered) return
  const reason = `${user} cannot be shown that in ${channel}, and only who is answered is written to directly`
  throw new TriviumError('send_rejected', { gateway, reason })
}

/** Whether a post was refused since the bot, or who should see it, cannot be reached in that channel. */
export function isShutOut(error: unknown): boolean {
  const failure = slackFailure(error)
  return failure.kind === 'rejected' && SHUT_OUT.has(failure.code)
}

/** Shows one part, and returns what there is to name it by. Undefined: they can be reached by direct messages only. */
async function showNext(whispering: Whispering, deps: WhisperDeps): Promise<string | undefined> {
  const { progress, save } = whispering
  progress.unconfirmed = true
  await save()
  try {
    const shown = (await answerAtUrl(whispering, deps)) ?? (await postEphemeral(whispering))
    delete progress.unconfirmed
    return shown
  } catch (error) {
    if (mayHaveArrived(error)) throw error
    delete progress.unconfirmed
    await save()
    if (isShutOut(error)) return undefined
    throw error
  }
}

/** Undefined: there is no response URL for this user, or none that Slack still takes. */
async function answerAtUrl(whispering: Whispering, deps: WhisperDeps): Promise<string | undefined> {
  const { key, content, user, target, progress } = whispering
  const { responseUrl: url, responseUntil = 0, thread } = target
  if (url === undefined || user !== target.user || deps.now() >= responseUntil) return undefined
  const part = progress.posted.length
  // Every answer to the same command counts, whichever reply it is of.
  const usedBy = `response:${url}`
  const uses = await deps.sent.read(usedBy)
  if (uses.posted.length >= MAX_RESPONSES) return undefined
  await deps.sent.write(usedBy, { ...uses, posted: [...uses.posted, `${key}/${part}`] })
  const isTaken = await respond({
    ...deps,
    key,
    url,
    text: content.parts[part] ?? '',
    ...(part === 0 && content.blocks ? { blocks: content.blocks } : {}),
    ...(thread === undefined || target.startsThread ? {} : { thread }),
  })
  return isTaken ? `response-${part}` : undefined
}

async function postEphemeral({
  key,
  content,
  user,
  workspace,
  target,
  progress,
}: Whispering): Promise<string> {
  const { channel, thread, startsThread } = target
  const part = progress.posted.length
  await workspace.api.pace(channel, key)
  const answer = await workspace.api.write('chat.postEphemeral', (web) =>
    web.chat.postEphemeral({
      channel,
      user,
      text: content.parts[part] ?? '',
      ...(part === 0 && content.blocks ? { blocks: content.blocks } : {}),
      // "Ephemeral messages in threads are only shown if there is already an active thread."
      ...(thread === undefined || startsThread ? {} : { thread_ts: thread }),
    }),
  )
  return answer.message_ts ?? ''
}
