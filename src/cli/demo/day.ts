import type { Daemon } from '../../daemon.ts'
import { pause } from '../../lib/pause.ts'
import type { createClock } from './clock.ts'
import type { createSenders } from './senders.ts'
import type { createStory } from './story.ts'

const DAY = 86_400_000
/** Every ten minutes of the day something comes in. */
const STEPS = 144
/**
 * How often it is looked whether all is done, and how long where nothing more comes in (ms): a jump of the clock ends the lease of the
 * mailbox, and what lies there then comes in a step later.
 */
const LOOK = 3
const PATIENCE = 300
/** The newest requests for approval wait for whoever looks at the demo. */
const UNDECIDED = 6

/** The operator who decides, pulls and subscribes in the demo. */
const BY = { caller: { kind: 'cli', id: 'jonas@harbour', roles: ['operator'] } } as const

/** What happens in the shop of the demo: a day of it, and then more of it as time passes. */
export function createDay(parts: {
  daemon: Daemon
  clock: ReturnType<typeof createClock>
  story: ReturnType<typeof createStory>
  senders: ReturnType<typeof createSenders>
  /** Ends the day early. */
  signal: AbortSignal
  /** Called with how far the day is, 0 to 1. */
  onProgress(part: number): void
}) {
  const { daemon, clock, story, senders } = parts
  const invoke = (name: string, args: object) => daemon.operator.invoke(name, args, BY)
  let expected = 0

  const send = async (count: number) => {
    const taken = await Promise.all(story.batch(count).map(senders.send))
    expected += taken.filter(Boolean).length
  }

  /** Until all that came in is read, and nothing runs: the clock may jump then, and no lease runs out under anybody's work. */
  const settled = async () => {
    let [messages, since] = [0, performance.now()]
    while (!parts.signal.aborted) {
      const { journal, dispatch, jobs } = await daemon.store.stats()
      const isBusy = jobs.some(({ queue, running, waiting }) => {
        return queue === 'dispatch' ? running > 0 : queue === 'outbox' && running + waiting > 0
      })
      const isRead = journal.messages >= expected && dispatch.unpumped === 0
      if (isRead && !isBusy) return
      if (journal.messages !== messages) [messages, since] = [journal.messages, performance.now()]
      if (performance.now() - since > PATIENCE) {
        // One of them was known already, or is too late: the next step is not to wait for it again.
        expected = journal.messages
        return
      }
      await pause(LOOK)
    }
  }

  /** A person decides what was asked, but for the newest. */
  const decide = async (left: number) => {
    const pending = Object(await invoke('approval-list', { status: 'pending', limit: 1000 }))
    for (const { id, message } of pending.slice(0, Math.max(0, pending.length - left))) {
      const approve = String(message?.id ?? id).charCodeAt(30) % 5 > 0
      const reason = approve ? {} : { reason: 'please ask for photos first' }
      await invoke('approval-decide', { id, approve, ...reason })
    }
  }

  /** Workers take jobs, and two of the three groups that read along do not keep up. */
  const work = async (step: number) => {
    const topic = 'gateway-message'
    if (step % 2 === 0) await invoke('gateway-receive', { gateway: 'jobs', timeout: 0 })
    await invoke('event-wait', { topic, queue: 'audit', timeout: 0, max: 10_000 })
    if (step < STEPS * 0.9) await invoke('event-wait', { topic, queue: 'dashboard', timeout: 0, max: 10_000 })
    if (step < STEPS / 3)
      await invoke('event-wait', { topic, queue: 'search-index', timeout: 0, max: 10_000 })
  }

  return {
    /** About so many messages in the last 24 hours; the clock tells the real time afterwards. */
    async fill(messages: number): Promise<void> {
      for (const queue of ['audit', 'dashboard', 'search-index'])
        await invoke('event-subscribe', { topic: 'gateway-message', queue })
      const report = { skill: 'report', args: { text: 'report orders' } }
      await invoke('schedule-create', {
        ...report,
        name: 'morning report',
        cron: '0 7 * * *',
        timezone: 'Europe/Berlin',
      })
      await invoke('schedule-create', { ...report, name: 'stock count', every: '4h' })
      const weights = Array.from({ length: STEPS }, (_, step) => busyness(step / STEPS))
      const sum = weights.reduce((all, each) => all + each, 0)
      let [planned, sent] = [0, 0]
      for (const [step, weight] of weights.entries()) {
        if (parts.signal.aborted) return
        clock.jumpTo(DAY - (DAY * step) / STEPS)
        planned += (messages * weight) / sum
        const count = Math.round(planned) - sent
        sent += count
        await send(count)
        await settled()
        await work(step)
        if (step % 3 === 0) await decide(UNDECIDED)
        parts.onProgress((step + 1) / STEPS)
      }
      clock.jumpTo(0)
    },
    /** Sends a little, until the signal aborts. */
    async goOn(): Promise<void> {
      const { signal } = parts
      for (let step = 0; !signal.aborted; step += 1) {
        // As people come: sometimes two at once, sometimes nobody for seconds.
        await pause([400, 2_500, 900, 150, 1_800, 3_200, 700][step % 7] ?? 1_000, signal)
        if (signal.aborted) return
        await send(step % 5 === 0 ? 3 : 1).catch(() => {})
        if (step % 20 === 0) await work(STEPS + step)
        if (step % 40 === 39) await decide(UNDECIDED)
      }
    },
  }
}

/** How much comes in at a part (0 to 1) of the 24 hours until now: a quiet night, and two busy times. */
function busyness(part: number): number {
  const hill = (middle: number, width: number) => Math.exp(-(((part - middle) / width) ** 2))
  return 0.12 + hill(0.2, 0.12) + 0.7 * hill(0.75, 0.1) + hill(0.97, 0.08)
}
