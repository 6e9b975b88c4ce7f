import type { Log } from '../core/log.ts'
import type { Message } from '../core/message.ts'
import type { Journal, NewJob, Note, Store } from '../core/store.ts'
import { createBell } from '../lib/bell.ts'

/** The little that the pump needs to know of a route. */
type Routed = { name: string }

/**
 * Moves accepted messages from the journal to the lanes, whenever there are new ones and the workers have nothing else
 * to do: what they cannot take yet waits in the journal.
 */
export type Pump = {
  start(): void
  /** For when the workers have nothing to do: it then adds one batch of jobs. */
  wake(): void
  stop(): Promise<void>
}

export type PumpOptions = {
  store: { journal: Pick<Journal, 'unpumped' | 'pumped' | 'note'>; onSignal: Store['onSignal'] }
  match(message: Message): Routed | undefined
  /** Called for each message that no route matches. */
  unrouted(message: Message): void
  /** Called when there are jobs for the workers, who must call `wake` when none is left for them. */
  added(): void
  log: Log
  now(): number
}

const BATCH = 256
/** Pause after the store failed (ms). */
const STORE_PAUSE = 500

export function createPump(options: PumpOptions): Pump {
  const { store, match, unrouted, log } = options
  const { journal } = store
  const bell = createBell()
  let isWanted = false
  /** Whether there may be messages that were not read yet. */
  let isUnread = true
  let stopping = false
  let loop: Promise<void> = Promise.resolve()
  let off = () => {}

  const work = async () => {
    while (!stopping) {
      bell.clear()
      if (!isWanted || !isUnread) {
        await bell.sleep()
        continue
      }
      isUnread = false
      try {
        await pumpBatch()
      } catch (err) {
        isUnread = true
        log.warn({ err }, 'accepted messages cannot be read for dispatch; trying again')
        await bell.sleep(STORE_PAUSE)
      }
    }
  }

  /**
   * Reads after the dispatch cursor, matches each message, and commits the jobs together with the cursor. A crash
   * between the two steps repeats them harmlessly, and of several daemons one wins each batch. Messages that no route
   * matches get a note in their history and no job, unless somebody waits for how they end.
   */
  const pumpBatch = async () => {
    const { cursor, messages } = await journal.unpumped(BATCH)
    const last = messages.at(-1)
    if (!last) return
    // A batch is short where its messages are large, or where another daemon was faster.
    isUnread = true

    const jobs: NewJob[] = []
    const unmatched: Message[] = []
    for (const message of messages) {
      const route = match(message)
      if (route || isAwaited(message)) jobs.push(jobFor(message, route?.name ?? ''))
      else unmatched.push(message)
    }
    if (!(await journal.pumped(cursor, last.id, jobs))) return
    if (jobs.length > 0) {
      isWanted = false
      options.added()
    }
    const note: Note = { at: options.now(), road: 'dispatch', what: 'unrouted' }
    for (const message of unmatched) unrouted(message)
    // Asked for in one turn, so that the store makes one step of them.
    await Promise.all(unmatched.map((message) => journal.note(message.id, [note])))
  }

  return {
    start() {
      off = store.onSignal('journal', () => {
        isUnread = true
        bell.ring()
      })
      loop = work()
    },
    wake() {
      isWanted = true
      bell.ring()
    },
    async stop() {
      stopping = true
      off()
      bell.ring()
      await loop
    },
  }
}

/** Messages of one conversation of one gateway share a lane. */
function jobFor(message: Message, route: string): NewJob {
  return {
    id: message.id,
    lane: `${message.gateway}/${message.conversation}`,
    group: route,
    messageId: message.id,
    ...(isAwaited(message) ? { notify: true } : {}),
  }
}

function isAwaited(message: Message): boolean {
  return message.data.respond === 'result'
}
