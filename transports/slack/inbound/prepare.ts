import { TriviumError } from '../../../src/core/errors.ts'
import { textAt } from '../../../src/core/json.ts'
import type { NewMessage } from '../../../src/core/message.ts'
import { defined } from '../../../src/lib/defined.ts'
import { conversationOf, targetSchema } from '../conversation.ts'
import type { SlackDeps } from '../host.ts'
import type { Workspace } from '../workspaces/workspace.ts'
import { idsIn, mrkdwnToMarkdown } from './content.ts'
import { type Delivery, type Draft, isExternal, lookupLimits } from './delivery.ts'
import type { createFileFetcher } from './files.ts'
import { isDirect } from './read-event.ts'

type Files = ReturnType<typeof createFileFetcher>

/** Data that a draft needs from Slack. */
type Lookups = {
  names: ReadonlyMap<string, string>
  areNamesKnown: boolean
  files: Awaited<ReturnType<Files['fetch']>> | undefined
  /**
   * The thread of the message. Empty without one or without a look-up; undefined if that failed.
   */
  thread: string | undefined
  /** Whether the message is in a thread with the bot. */
  isMine: boolean
  context: Awaited<ReturnType<Workspace['threads']['context']>>
}

/**
 * Creates the function that turns a draft into a message. It rejects if data from Slack is missing
 * after the timeout, unless Slack will not deliver the event again.
 */
export function createPreparation(
  deps: SlackDeps,
  files: Files,
  groupsOf: (user: string) => string[] | undefined,
) {
  const refuse = ({ channel, ts, user, content }: Draft): never => {
    const reason = 'names, files or the thread of the event could not be read in time'
    deps.refused('incomplete', { from: user, why: reason, body: content?.text })
    deps.log.info({ channel, ts, reason }, 'a Slack event is refused for now; Slack delivers it again')
    throw new TriviumError('store_unavailable', { store: 'Slack', reason })
  }

  return async (draft: Draft, delivery: Delivery): Promise<NewMessage> => {
    const isWanted = draft.unwantedReason === undefined
    const { timeout, willBeRetried } = lookupLimits(delivery)
    const lookups = await lookUp(draft, delivery.workspace, files, timeout)
    if (willBeRetried && isWanted && !isComplete(lookups)) refuse(draft)
    const placed = { ...draft, thread: lookups.thread || draft.thread }
    // Joins already now, because the person may write again before the bot has answered.
    if (draft.mention && isWanted) void delivery.workspace.threads.join(draft.channel, placed.thread)
    // People of other workspaces are in no group of this one.
    const groups = isExternal(delivery) ? undefined : groupsOf(draft.user)
    return { gateway: deps.gateway, ...messageOf(placed, delivery, lookups, groups) }
  }
}

const isComplete = ({ areNamesKnown, files, thread }: Lookups) =>
  areNamesKnown && files?.isComplete !== false && thread !== undefined

/** Looks up the data that a draft needs, each for at most `timeout` ms. */
async function lookUp(draft: Draft, workspace: Workspace, files: Files, timeout: number): Promise<Lookups> {
  const { channel, ts, inThread } = draft
  const { threads, directory } = workspace
  const [{ names, areKnown }, fetched, thread, isMine, context] = await Promise.all([
    namesFor(draft, workspace, timeout),
    // An event only for listeners needs no artifacts: the app fetches files itself.
    draft.files?.length && draft.unwantedReason === undefined
      ? files.fetch(draft.files, workspace, timeout)
      : undefined,
    // A reaction belongs to the conversation of its message, which may be in a thread.
    draft.threadUnknown ? directory.threadOf(channel, ts ?? '', timeout) : '',
    inThread === 'unknown' ? threads.has(channel, draft.thread ?? '') : inThread === 'mine',
    draft.thread && isDirect(channel) && !draft.startsThread
      ? threads.context(channel, draft.thread, draft.extra.context)
      : draft.extra.context,
  ])
  return { names, areNamesKnown: areKnown, files: fetched, thread, isMine, context }
}

/**
 * Looks up names for all ids in a draft. `areKnown`: the names of its channel and author, which may
 * affect routing, were found within `timeout` ms. Does not wait if all names are cached.
 */
async function namesFor(draft: Draft, { directory, botUser }: Workspace, timeout: number) {
  const texts = [draft.content?.text, previousTextOf(draft)]
  const ids = idsIn(texts.filter(Boolean).join(' '))
  ids.delete(botUser)
  if (draft.userName === undefined && /^[UW]/.test(draft.user)) ids.add(draft.user)
  if (/^[CG]/.test(draft.channel)) ids.add(draft.channel)
  const names = new Map<string, string>()
  let areKnown = true
  const lookUpName = async (id: string) => {
    const name = await directory.nameOf(id, timeout)
    if (name) names.set(id, name)
    // Names of mentioned people do not affect routing.
    if (name === undefined && [draft.channel, draft.user].includes(id)) areKnown = false
  }
  await Promise.all(Array.from(ids, lookUpName))
  return { names, areKnown }
}

/** The message of a draft. `groups`: the user groups that its author is in. */
function messageOf(
  draft: Draft,
  delivery: Delivery,
  { names, files, isMine, context }: Lookups,
  groups: string[] | undefined,
): Omit<NewMessage, 'gateway'> {
  const { channel, user, content, extra } = draft
  const { workspace, payload } = delivery
  // Commands and clicks contain names too: user names instead of display names, and a placeholder
  // instead of the name of a private channel.
  const nameIn = (kind: string) => textAt(payload, `${kind}_name`) ?? textAt(payload, `${kind}.name`)
  const name = draft.userName ?? names.get(user) ?? nameIn('user')
  const isPlaceholder = /^(privategroup|directmessage)$/.test(nameIn('channel') ?? '')
  const channelName = names.get(channel) ?? (isPlaceholder ? undefined : nameIn('channel'))
  const external = isExternal(delivery) || undefined
  const previous = previousTextOf(draft)
  return {
    transport: 'slack',
    conversation: conversationOf(draft),
    key: draft.key,
    from: defined({ id: user, name, address: user, verified: true, external, groups }),
    to: channelName ?? channel,
    text: mrkdwnToMarkdown(content?.text ?? '', names),
    attachments: files?.attachments ?? [],
    data: defined({
      event: draft.event,
      team: workspace.team,
      teamName: workspace.name,
      channel: channelName === undefined ? [channel] : [channel, channelName],
      thread: draft.thread,
      mine: isMine || undefined,
      ts: draft.ts,
      direct: isDirect(channel),
      mention: draft.mention ?? false,
      ...content?.layout,
      ...extra,
      ...defined({ previousText: previous && mrkdwnToMarkdown(previous, names) }),
      context,
      files: files?.files,
      replyTarget: defined(targetSchema.parse(draft)),
      payload,
    }),
  }
}

/** The text before an edit or a deletion, in Slack's markup. */
function previousTextOf({ extra }: Draft): string | undefined {
  return textAt(extra, 'previousText')
}
