import type { Workspace } from '../workspaces.ts'
import type { Draft } from './draft.ts'
import { idsIn, type Names } from './to-markdown.ts'

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

/** The same, where Slack may have to be asked; who has no name is not among them. */
export async function lookUpNames(draft: Draft, { directory, botUser }: Workspace): Promise<Names> {
  const { users, channels } = mentionedIn(draft, botUser)
  const names = new Map<string, string>()
  const look = async (id: string, name: Promise<string | undefined>) => {
    const found = await name
    if (found !== undefined) names.set(id, found)
  }
  await Promise.all([
    ...[...users].map((id) => look(id, directory.user(id))),
    ...[...channels].map((id) => look(id, directory.channel(id))),
  ])
  return names
}

/** Whose names are wanted: author and channel, unless Slack told them, and whom and what the text mentions. */
function mentionedIn(draft: Draft, botUser: string): ReturnType<typeof idsIn> {
  const mentioned = idsIn(draft.text, draft.blocks)
  mentioned.users.delete(botUser)
  if (draft.userName === undefined) mentioned.users.add(draft.user)
  if (draft.channelName === undefined && draft.channel !== undefined && !draft.direct)
    mentioned.channels.add(draft.channel)
  return mentioned
}
