import { z } from 'zod'
import { reasonOf } from '../../src/core/errors.ts'
import { type JsonObject, toJson } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { slackFailure } from './failure.ts'
import type { Standing } from './inbound/draft.ts'
import type { SlackInbound } from './inbound/inbound.ts'
import type { SlackOptions } from './options.ts'
import type { Workspace, Workspaces } from './workspaces.ts'

const seenSchema = z.object({
  team: z.string(),
  channel: z.string(),
  /** The newest message that was taken. */
  ts: z.string(),
  /** Whether Slack delivers all messages of the channel here, or only those that mention the bot. */
  all: z.boolean(),
  /** The threads that were spoken in last. */
  threads: z.array(z.string()),
})

type Seen = z.infer<typeof seenSchema>

/** What was missed while no socket was open, read back from Slack. */
export type GapFill = {
  /** Remembers how far a channel was read. */
  seen(where: Standing): void
  /** Reads on in the channels that were last active, and takes what was missed. Never rejects. */
  fill(): Promise<void>
  /** Keeps what is remembered. */
  stop(): Promise<void>
}

const CHANNELS = 20
const THREADS = 5
const PAGE = 100
const PAGES = 5
const SAVE = 2000
const KEPT = 7 * 86_400_000

/**
 * Slack delivers again what was not acknowledged, but not for ever, and not to an app that was away for longer. So
 * after each connection the channels and threads that were active are read from where they were left, at most
 * `fill-gaps` back and 500 messages each, the newest. What had arrived after all is known by its key, and not taken twice.
 */
export function createGapFill(
  options: SlackOptions,
  deps: TransportDeps,
  workspaces: Workspaces,
  inbound: Pick<SlackInbound, 'take'>,
): GapFill {
  const window = options['fill-gaps']
  const prefix = `slack/${deps.gateway}/seen/`
  const marks = new Map<string, Seen>()
  const unsaved = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  async function save(): Promise<void> {
    const names = [...unsaved]
    unsaved.clear()
    for (const name of names) {
      const mark = marks.get(name)
      if (mark) await deps.kv.set(prefix + name, { ...mark }, { ttl: KEPT })
    }
  }

  /** Without it, more is read again after the next connection, and known by its keys. */
  async function trySave(): Promise<void> {
    try {
      await save()
    } catch (error) {
      deps.log.debug({ reason: reasonOf(error) }, 'how far Slack was read could not be kept')
    }
  }

  function saveSoon() {
    timer ??= setTimeout(() => {
      timer = undefined
      void trySave()
    }, SAVE)
    timer.unref()
  }

  async function load(): Promise<Seen[]> {
    for (const key of await deps.kv.list(prefix, 1000)) {
      const name = key.slice(prefix.length)
      const mark = seenSchema.safeParse((await deps.kv.get(key))?.value).data
      const own = marks.get(name)
      if (mark && Number(mark.ts) > Number(own?.ts ?? 0)) marks.set(name, mark)
    }
    return [...marks.values()].sort((a, b) => Number(b.ts) - Number(a.ts)).slice(0, CHANNELS)
  }

  async function fillChannel(mark: Seen, workspace: Workspace, reach: number): Promise<number> {
    const oldest = String(Math.max(Number(mark.ts), (deps.now() - reach) / 1000).toFixed(6))
    const { channel } = mark
    const missed = await allPages(channel, (page) =>
      workspace.api.call('conversations.history', (web) =>
        web.conversations.history({ channel, oldest, ...page }),
      ),
    )
    for (const ts of mark.threads) {
      const thread = await allPages(channel, (page) =>
        workspace.api.call('conversations.replies', (web) =>
          web.conversations.replies({ channel, ts, oldest, ...page }),
        ),
      )
      missed.push(...thread)
    }
    const found = missed
      .map((message) => eventOf(toJson(message), mark))
      .filter((event) => Number(event.ts) > Number(oldest))
      .filter((event) => mark.all || String(event.text).includes(`<@${workspace.botUser}`))
      .sort((a, b) => Number(a.ts) - Number(b.ts))
    for (const event of found) {
      if (stopped) return 0
      await inbound.take('event', { type: 'event_callback', team_id: mark.team, event })
    }
    return found.length
  }

  async function allPages<Message>(
    channel: string,
    read: (page: { limit: number; cursor?: string }) => Promise<Page<Message>>,
  ): Promise<Message[]> {
    const messages: Message[] = []
    let cursor: string | undefined
    for (let page = 0; page < PAGES && !stopped; page++) {
      const answer = await read({ limit: PAGE, ...(cursor ? { cursor } : {}) })
      messages.push(...(answer.messages ?? []))
      cursor = answer.response_metadata?.next_cursor
      if (!cursor) return messages
    }
    deps.log.warn({ channel, read: messages.length }, 'more was missed in Slack than is read back')
    return messages
  }

  return {
    seen({ channel, team, ts, thread, source }) {
      if (window === 'off' || source === undefined || !channel || !ts) return
      const name = `${team}/${channel}`
      const mark = marks.get(name)
      const others = mark?.threads.filter((each) => each !== thread) ?? []
      marks.set(name, {
        team,
        channel,
        ts: Number(ts) > Number(mark?.ts ?? 0) ? ts : (mark?.ts ?? ts),
        all: mark?.all === true || source === 'message',
        threads: [...(thread === undefined ? [] : [thread]), ...others].slice(0, THREADS),
      })
      unsaved.add(name)
      saveSoon()
    },
    async fill() {
      if (window === 'off') return
      try {
        for (const mark of await load()) {
          const workspace = workspaces.find(mark.team)
          if (stopped) return
          if (!workspace) continue
          const goOn = await fillOne(mark, workspace, window)
          if (!goOn) return
        }
      } catch (error) {
        deps.log.warn({ err: error }, 'what was missed in Slack could not be read')
      }
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await trySave()
    },
  }

  /** False: Slack wants us to stop asking. */
  async function fillOne(mark: Seen, workspace: Workspace, reach: number): Promise<boolean> {
    try {
      const read = await fillChannel(mark, workspace, reach)
      if (read > 0) deps.log.info({ channel: mark.channel, read }, 'read in Slack what may have been missed')
      return true
    } catch (error) {
      const { kind, reason } = slackFailure(error)
      deps.log.debug({ channel: mark.channel, reason }, 'a channel of Slack could not be read')
      return kind === 'rejected'
    }
  }
}

type Page<Message> = { messages?: Message[]; response_metadata?: { next_cursor?: string } }

function eventOf(message: ReturnType<typeof toJson>, { channel }: Seen): JsonObject {
  return {
    ...Object(message),
    type: 'message',
    channel,
    channel_type: channel.startsWith('D') ? 'im' : 'channel',
  }
}
