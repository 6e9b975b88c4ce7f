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
  /** For when the workers have nothing to do again. */
  wake(): void
  stop(): Promise<void>
}

export type PumpOptions = {
  store: { journal: Pick<Journal, 'unpumped' | 'pumped' | 'note'>; onSignal: Store['onSignal'] }
  match(message: Message): Routed | undefined
  /** Called for each message that no route matches. */
  unrouted(message: Message): void
  /** Whether the workers have nothing to do. */
  isWanted(): boolean
  log: Log
  now(): number
}

const BATCH = 256
/** Pause after the store failed (ms). */
const STORE_PAUSE = 500

export function createPump(options: PumpOptions): Pump {
  const { store, log } = options
  const bell = createBell()
  let stopping = false
  let loop: Promise<void> = Promise.resolve()
  let off = () => {}

  const work = async () => {
    while (!stopping) {
      bell.clear()
      try {
        // Until there is none: a batch is short where its messages are large, or where another daemon was faster.
        const isMore = options.isWanted() && (await pumpBatch(options))
        if (!isMore) await bell.sleep()
      } catch (err) {
        log.warn({ err }, 'accepted messages cannot be read for dispatch; trying again')
        await bell.sleep(STORE_PAUSE)
      }
    }
  }

  return {
    start() {
      off = store.onSignal('journal', bell.ring)
      loop = work()
    },
    wake: bell.ring,
    async stop() {
      stopping = true
      off()
      bell.ring()
      await loop
    },
  }
}

/**
 * Reads after the dispatch cursor, matches each message, and commits the jobs together with the cursor. A crash
 * between the two steps repeats them harmlessly, and of several daemons one wins each batch. Messages that no route
 * matches get a note in their history and no job, unless somebody waits for how they end. False: there was nothing to read.
 */
async function pumpBatch({ store: { journal }, match, unrouted, now }: PumpOptions): Promise<boolean> {
  const { cursor, messages } = await journal.unpumped(BATCH)
  const last = messages.at(-1)
  if (!last) return false

  const jobs: NewJob[] = []
  const unmatched: Message[] = []
  for (const { message } of messages) {
    const route = match(message)
    if (route || isAwaited(message)) jobs.push(jobFor(message, route?.name ?? ''))
    else unmatched.push(message)
  }
  if (!(await journal.pumped(cursor, last.position, jobs))) return true
  const note: Note = { at: now(), road: 'dispatch', what: 'unrouted' }
  for (const message of unmatched) unrouted(message)
  // Asked for in one turn, so that the store makes one step of them.
  await Promise.all(unmatched.map((message) => journal.note(message.id, [note])))
  return true
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
