import type { Known } from '../directory.ts'
import type { Workspace } from '../workspaces.ts'
import type { Draft } from './draft.ts'
import { ownText } from './message-of.ts'
import { idsShown, saysNothing } from './shown.ts'
import { idsIn, type Names } from './to-markdown.ts'

/** How long a message waits for the names of those whom it only mentions (ms): they decide nothing. */
const NICE_TO_KNOW = 1000

/** Names for all that a draft mentions, where none has to be asked for. */
export function knownNames(draft: Draft, { directory, botUser }: Workspace): Names | undefined {
  const names = new Map<string, string>()
  const { users, channels } = mentionedIn(draft, botUser)
  const recall = (kind: 'user' | 'channel', id: string): boolean => {
    const known = directory.known(kind, id)
    if (known?.name !== undefined) names.set(id, known.name)
    return known !== undefined
  }
  for (const id of users) if (!recall('user', id)) return undefined
  for (const id of channels) if (!recall('channel', id)) return undefined
  return names
}

/**
 * The same, where Slack may have to be asked; who has no name is not among them. `isWhole`: Slack has told the names of
 * the draft's own channel and author, which may decide who answers, before `late` aborted. Others may stay ids.
 */
export async function lookUpNames(
  draft: Draft,
  { directory, botUser }: Workspace,
  late: AbortSignal,
): Promise<{ names: Names; isWhole: boolean }> {
  const { users, channels } = mentionedIn(draft, botUser)
  const names = new Map<string, string>()
  const soon = AbortSignal.any([late, AbortSignal.timeout(NICE_TO_KNOW)])
  const decides = (id: string) => id === draft.channel || id === draft.user
  const look = async (id: string, ask: (until: AbortSignal) => Promise<Known | undefined>) => {
    const known = await ask(decides(id) ? late : soon)
    if (known?.name !== undefined) names.set(id, known.name)
    return known !== undefined || !decides(id)
  }
  const found = await Promise.all([
    ...[...users].map((id) => look(id, (until) => directory.user(id, until))),
    ...[...channels].map((id) => look(id, (until) => directory.channel(id, until))),
  ])
  return { names, isWhole: found.every(Boolean) }
}

/** Whose names are wanted: author and channel, unless Slack told them, and whom and what the text mentions. */
function mentionedIn(draft: Draft, botUser: string): ReturnType<typeof idsIn> {
  const speaks = draft.shown === undefined || !saysNothing(ownText(draft, botUser))
  const mentioned = !speaks && draft.shown ? idsShown(draft.shown) : idsIn(draft.text, draft.blocks)
  mentioned.users.delete(botUser)
  if (draft.userName === undefined) mentioned.users.add(draft.user)
  if (draft.channelName === undefined && draft.channel !== undefined && !draft.direct)
    mentioned.channels.add(draft.channel)
  return mentioned
}
