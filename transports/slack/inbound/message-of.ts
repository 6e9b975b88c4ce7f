import type { NewMessage } from '../../../src/core/message.ts'
import { defined } from '../../../src/lib/defined.ts'
import { targetData } from '../conversation.ts'
import type { Workspace } from '../workspaces.ts'
import { contentData, contentText, idsIn } from './content.ts'
import { conversationIn, type Draft } from './draft.ts'
import type { FetchedFiles } from './files.ts'
import type { Names } from './markdown.ts'

/** How long a message waits for the names of those whom it only mentions (ms): they decide nothing. */
const NICE_TO_KNOW = 1000

/** The message of a draft, once its names are known and its files are here. `awaited`: its end is waited for. */
export function messageOf(
  gateway: string,
  draft: Draft,
  workspace: Workspace,
  more: { names: Names; fetched: FetchedFiles | undefined; awaited: boolean },
): NewMessage {
  const { team, channel, user } = draft
  const { names, fetched, awaited } = more
  const name = draft.userName ?? names.get(user)
  const channelName = draft.channelName ?? names.get(channel)
  return {
    gateway,
    transport: 'slack',
    conversation: conversationIn(draft),
    key: draft.key,
    from: defined({ id: user, name, address: user, verified: true }),
    to: channelName ?? channel,
    text: contentText(draft.content, names, draft.mention ? workspace.botUser : undefined),
    attachments: fetched?.attachments ?? [],
    data: defined({
      event: draft.event,
      team,
      teamName: workspace.name,
      channel: channelName === undefined ? [channel] : [channel, channelName],
      thread: draft.thread,
      ts: draft.ts,
      direct: draft.direct,
      mention: draft.mention,
      ...contentData(draft.content),
      ...draft.extra,
      files: fetched?.files,
      replyTarget: targetData(draft),
      respond: awaited ? 'result' : undefined,
    }),
  }
}

/**
 * Names for all that a draft mentions; who has none is not among them. `isWhole`: the names of its own channel and
 * author, which may decide who answers, are known, or Slack has told them before `late` aborted. Others may stay ids.
 * Nothing is waited for where all are known.
 */
export async function namesFor(
  draft: Draft,
  { directory, botUser }: Workspace,
  late: () => AbortSignal,
): Promise<{ names: Names; isWhole: boolean }> {
  const { users, channels } = idsIn(draft.content)
  users.delete(botUser)
  if (draft.userName === undefined) users.add(draft.user)
  if (draft.channelName === undefined && !draft.direct) channels.add(draft.channel)
  const names = new Map<string, string>()
  const look = async (kind: 'user' | 'channel', id: string): Promise<boolean> => {
    const decides = id === draft.channel || id === draft.user
    const until = () => (decides ? late() : AbortSignal.any([late(), AbortSignal.timeout(NICE_TO_KNOW)]))
    const known = await directory.find(kind, id, until)
    if (known?.name !== undefined) names.set(id, known.name)
    return known !== undefined || !decides
  }
  const found = await Promise.all([
    ...Array.from(users, (id) => look('user', id)),
    ...Array.from(channels, (id) => look('channel', id)),
  ])
  return { names, isWhole: found.every(Boolean) }
}
