import { TriviumError } from '../../../src/core/errors.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Accepted, NewMessage } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { conversationOf, targetData } from '../conversation.ts'
import { defined, objectsAt, textAt } from '../fields.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace, Workspaces } from '../workspaces.ts'
import type { Draft, Read, Standing } from './draft.ts'
import { type FetchedFiles, fetchFiles } from './fetch-files.ts'
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
export type OnAccepted = (where: Standing, accepted: Accepted, workspace: Workspace) => void

/**
 * Nearly every event needs nothing of Slack: its names are known and it has no files. Such an event goes to `accept`
 * in the turn in which it came, so that all events of one read share one commit of the store.
 */
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
    if (stopped)
      throw new TriviumError('store_unavailable', { store: 'gateway', reason: 'the daemon is stopping' })
    const workspace = workspaceOf(payload)
    if (!workspace) {
      deps.refused('unknown_team')
      return skip('its workspace has no bot token here')
    }
    const read = readPayload(kind, payload, workspace)
    if ('skip' in read) return skip(read.skip)
    return underWay.get(read.draft.key) ?? begin(read.draft, workspace)
  }

  function begin(draft: Draft, workspace: Workspace): Promise<Accepted> {
    const { key } = draft
    const where = standingOf(draft)
    const accepting = accept(draft, workspace).then(
      (accepted) => {
        underWay.delete(key)
        if (!accepted.duplicate) onAccepted(where, accepted, workspace)
        return accepted
      },
      (error: unknown) => {
        underWay.delete(key)
        throw error
      },
    )
    underWay.set(key, accepting)
    return accepting
  }

  function readPayload(kind: PayloadKind, payload: JsonObject, workspace: Workspace): Read {
    if (kind === 'event') return readEvent(payload, workspace, options)
    return kind === 'command'
      ? readCommand(payload, workspace.team, options, deps.now())
      : readInteraction(payload, workspace.team, options)
  }

  function accept(draft: Draft, workspace: Workspace): Promise<Accepted> {
    const before = tails.get(draft.conversation)
    const names = before || needsSlack(draft) ? undefined : knownNames(draft, workspace)
    return names ? deps.accept(toMessage(draft, workspace, names)) : acceptLater(before, draft, workspace)
  }

  async function acceptLater(
    before: Promise<unknown> | undefined,
    draft: Draft,
    workspace: Workspace,
  ): Promise<Accepted> {
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
    return toMessage(placed, workspace, names, fetched)
  }

  function toMessage(draft: Draft, workspace: Workspace, names: Names, fetched?: FetchedFiles): NewMessage {
    // So marked, how the dispatch of a message ends can be waited for; progress reactions do.
    const awaited = draft.source !== undefined && options.progress !== 'off'
    return messageOf(deps.gateway, draft, workspace, { names, fetched, awaited })
  }

  function workspaceOf(payload: JsonObject): Workspace | undefined {
    const authorized = objectsAt(payload, 'authorizations')
    for (const each of authorized) {
      const found = workspaces.find(textAt(each, 'team_id') ?? '')
      if (found) return found
    }
    const claimed =
      textAt(payload, 'team_id') ?? textAt(payload, 'team.id') ?? textAt(payload, 'user.team_id')
    if (claimed !== undefined) return workspaces.find(claimed)
    // An app of a whole organisation names none.
    return authorized.some((each) => textAt(each, 'team_id') !== undefined) ? undefined : workspaces.only()
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

function standingOf({ team, channel, ts, thread, source }: Draft): Standing {
  return {
    team,
    ...(channel === undefined ? {} : { channel }),
    ...(ts === undefined ? {} : { ts }),
    ...(thread === undefined ? {} : { thread }),
    ...(source === undefined ? {} : { source }),
  }
}

function needsSlack({ files, threadUnknown }: Draft): boolean {
  return files.length > 0 || threadUnknown === true
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

/** Names for all that a draft mentions, where none has to be asked for. */
function knownNames(draft: Draft, { directory, botUser }: Workspace): Names | undefined {
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

async function lookUpNames(draft: Draft, { directory, botUser }: Workspace): Promise<Names> {
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

function messageOf(
  gateway: string,
  draft: Draft,
  workspace: Workspace,
  more: { names: Names; fetched: FetchedFiles | undefined; awaited: boolean },
): NewMessage {
  const { channel, user } = draft
  const { names, fetched, awaited } = more
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
      respond: awaited ? 'result' : undefined,
    }),
  }
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
