import { TriviumError } from '../../../src/core/errors.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Accepted, NewMessage } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { conversationOf, targetData } from '../conversation.ts'
import { defined, objectsAt, textAt } from '../fields.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'
import type { Draft, Read } from './draft.ts'
import { fetchFiles } from './fetch-files.ts'
import { readEvent } from './read-event.ts'
import { readCommand, readInteraction } from './read-interaction.ts'
import { idsIn, type Names, toMarkdown } from './to-markdown.ts'

/** The kinds of payload that Slack delivers, on either road. */
export type PayloadKind = 'event' | 'command' | 'interaction'

/** The receiving half of a Slack gateway, for sockets and HTTP alike. */
export type SlackInbound = {
  /**
   * Takes one payload. Resolves when it may be acknowledged: its message is durable, or it starts nothing.
   * Rejects: it must not be acknowledged, so that Slack delivers it again.
   */
  take(kind: PayloadKind, payload: JsonObject): Promise<Accepted | undefined>
  /** Refuses from now on; resolves when all that was taken has an outcome. */
  stop(): Promise<void>
}

/** What is told of each message that was accepted for the first time. */
export type OnAccepted = (draft: Draft, accepted: Accepted, workspace: Workspace) => void

export function createInbound(
  options: SlackOptions,
  deps: TransportDeps,
  workspaces: Workspaces,
  onAccepted: OnAccepted,
): SlackInbound {
  /** Slack repeats what takes long; a repetition waits for the first. */
  const underWay = new Map<string, Promise<Accepted>>()
  /** The last of each conversation that is being prepared: messages stay in order however long names take. */
  const tails = new Map<string, Promise<unknown>>()
  let stopped = false

  async function take(kind: PayloadKind, payload: JsonObject): Promise<Accepted | undefined> {
    const workspace = await workspaceOf(payload)
    if (stopped)
      throw new TriviumError('store_unavailable', { store: 'gateway', reason: 'the daemon is stopping' })
    if (!workspace) {
      deps.refused('unknown_team')
      return skip('its workspace has no bot token here')
    }
    const read = readPayload(kind, payload, workspace)
    if ('skip' in read) return skip(read.skip)
    const { draft } = read
    const running = underWay.get(draft.key)
    if (running) return running
    const accepting = accept(draft, workspace).finally(() => underWay.delete(draft.key))
    underWay.set(draft.key, accepting)
    const accepted = await accepting
    if (!accepted.duplicate) onAccepted(draft, accepted, workspace)
    return accepted
  }

  function readPayload(kind: PayloadKind, payload: JsonObject, workspace: Workspace): Read {
    if (kind === 'event') return readEvent(payload, workspace, options)
    return kind === 'command'
      ? readCommand(payload, workspace.team, options, deps.now())
      : readInteraction(payload, workspace.team, options)
  }

  async function accept(draft: Draft, workspace: Workspace): Promise<Accepted> {
    const before = tails.get(draft.conversation)
    const preparing = before ? before.then(() => prepare(draft, workspace)) : prepare(draft, workspace)
    const tail = preparing.catch(() => undefined)
    tails.set(draft.conversation, tail)
    try {
      return await deps.accept(await preparing)
    } finally {
      if (tails.get(draft.conversation) === tail) tails.delete(draft.conversation)
    }
  }

  async function prepare(draft: Draft, workspace: Workspace): Promise<NewMessage> {
    const [names, fetched, placed] = await Promise.all([
      lookUpNames(draft, workspace),
      draft.files.length === 0 ? undefined : fetchFiles(draft.files, workspace, options, deps),
      place(draft, workspace),
    ])
    const message = messageOf(deps.gateway, placed, workspace, names, fetched)
    return draft.source === undefined || options.progress === 'off' ? message : awaited(message)
  }

  async function workspaceOf(payload: JsonObject): Promise<Workspace | undefined> {
    const known = await workspaces.ready()
    const authorized = objectsAt(payload, 'authorizations').flatMap((each) => textAt(each, 'team_id') ?? [])
    const claimed =
      textAt(payload, 'team_id') ?? textAt(payload, 'team.id') ?? textAt(payload, 'user.team_id')
    for (const team of [...authorized, ...(claimed === undefined ? [] : [claimed])]) {
      const found = workspaces.find(team)
      if (found) return found
    }
    // An app of a whole organisation names none.
    return authorized.length === 0 && claimed === undefined && known.length === 1 ? known[0] : undefined
  }

  function skip(why: string): undefined {
    deps.log.debug({ why }, 'an event of Slack starts nothing')
    return undefined
  }

  return {
    take,
    async stop() {
      stopped = true
      await Promise.allSettled(underWay.values())
    },
  }
}

/** A reaction belongs to the conversation of the message that it is on, which may be inside a thread. */
async function place(draft: Draft, workspace: Workspace): Promise<Draft> {
  const { channel, ts, team } = draft
  if (!draft.threadUnknown || channel === undefined || ts === undefined) return draft
  const thread = await workspace.directory.threadOf(channel, ts)
  return {
    ...draft,
    thread,
    conversation: conversationOf({ team, channel, thread }),
    target: { ...draft.target, thread },
  }
}

async function lookUpNames(draft: Draft, { directory, botUser }: Workspace): Promise<Names> {
  const mentioned = idsIn(draft.text, draft.blocks)
  const users = new Set(mentioned.users)
  users.delete(botUser)
  const channels = new Set(mentioned.channels)
  if (draft.userName === undefined) users.add(draft.user)
  if (draft.channelName === undefined && draft.channel !== undefined && !draft.direct)
    channels.add(draft.channel)
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

function messageOf(
  gateway: string,
  draft: Draft,
  workspace: Workspace,
  names: Names,
  fetched: Awaited<ReturnType<typeof fetchFiles>> | undefined,
): NewMessage {
  const { channel, user } = draft
  const name = draft.userName ?? names.get(user)
  const channelName = draft.channelName ?? (channel === undefined ? undefined : names.get(channel))
  return {
    gateway,
    transport: 'slack',
    conversation: draft.conversation,
    key: draft.key,
    from: { id: user, ...(name === undefined ? {} : { name }), address: user, verified: true },
    ...(channel === undefined ? {} : { to: channelName ?? channel }),
    text: toMarkdown(...withoutOwnMention(draft, workspace.botUser), names),
    attachments: fetched?.attachments ?? [],
    data: defined({
      event: draft.event,
      team: workspace.team,
      teamName: workspace.name,
      channel:
        channel === undefined ? undefined : [channel, ...(channelName === undefined ? [] : [channelName])],
      thread: draft.thread,
      ts: draft.ts,
      direct: draft.direct,
      mention: draft.mention,
      ...draft.extra,
      files: fetched?.files,
      replyTarget: targetData(draft.target),
    }),
  }
}

/** So marked, how the dispatch of a message ends can be waited for; progress reactions do. */
function awaited(message: NewMessage): NewMessage {
  return { ...message, data: { ...message.data, respond: 'result' } }
}

/** `@bot do this` says `do this`: whom it is said to is in `data.mention`. */
function withoutOwnMention(draft: Draft, botUser: string): [string, Draft['blocks']] {
  const { text, blocks } = draft
  if (!draft.mention) return [text, blocks]
  const bare = text.replace(new RegExp(`^\\s*<@${botUser}(\\|[^>]*)?>[\\s,:]*`), '')
  return [bare, bare === text || !Array.isArray(blocks) ? blocks : withoutFirstUser(blocks, botUser)]
}

function withoutFirstUser(blocks: NonNullable<Draft['blocks']>, botUser: string): Draft['blocks'] {
  const copy = structuredClone(blocks)
  const elements = objectsAt(copy, '0.elements.0.elements')
  const at = elements.findIndex((element) => element.type === 'user' && element.user_id === botUser)
  if (at < 0 || !Array.isArray(copy)) return blocks
  const rest = elements.slice(at + 1)
  const [first] = rest
  if (typeof first?.text === 'string') first.text = first.text.replace(/^[\s,:]+/, '')
  const section = objectsAt(copy, '0.elements')[0]
  if (section) section.elements = rest
  return copy
}
