import { DAY } from '../../core/units.ts'
import type { Daemon } from '../../daemon.ts'
import { pause } from '../../lib/pause.ts'
import type { createSend } from './senders.ts'
import type { createStory } from './story.ts'

/** Messages of the day arrive in steps of ten minutes. */
const STEPS = 144
/** Polling interval (ms) for the end of running work. */
const POLL_INTERVAL = 3
/** Number of approval requests that stay open for visitors of the demo. */
const UNDECIDED = 6

/** The operator of the demo, who decides, pulls and subscribes. */
const AS_OPERATOR = { caller: { kind: 'cli', id: 'jonas@harbour', roles: ['operator'] } } as const
const topic = 'gateway-message'

/**
 * Moves `Date.now` of this process back by a day. Only for the demo, which has the process to
 * itself: the store dates messages by this clock, and a day passes in seconds. Returns a function
 * that jumps to `ago` ms before the real time, never backwards.
 */
export function turnClockBack() {
  const realTime = Date.now
  let offset = DAY
  Date.now = () => realTime() - offset
  return (ago: number) => {
    offset = Math.min(offset, ago)
  }
}

/** The events of the demo: first a whole day, then more as time passes. */
export function createDay(parts: {
  daemon: Daemon
  jumpTo: ReturnType<typeof turnClockBack>
  story: ReturnType<typeof createStory>
  send: ReturnType<typeof createSend>
  signal: AbortSignal
  /** Called with the progress, 0 to 1. */
  onProgress(part: number): void
}) {
  const { daemon, jumpTo, story, signal } = parts
  const invoke = (name: string, args: object) => daemon.operator.invoke(name, args, AS_OPERATOR)
  const send = (count: number) => Promise.all(story.batch(count).map(parts.send))

  /** Decides open requests, except the newest. Denies every fifth. */
  const decide = async () => {
    const pending = Object(await invoke('approval-list', { status: 'pending', limit: 1000 }))
    const old = pending.slice(0, Math.max(0, pending.length - UNDECIDED))
    for (const [index, { id }] of old.entries()) {
      const approve = index % 5 > 0
      await invoke('approval-decide', {
        id,
        approve,
        ...(!approve && { reason: 'please ask for photos first' }),
      })
    }
  }

  /**
   * Workers take jobs, and consumer groups read events. The group `search-index` stops after a
   * third of the day, and falls behind.
   */
  const work = async (step: number) => {
    if (step % 2 === 0) await invoke('gateway-receive', { gateway: 'jobs', timeout: 0 })
    const groups = step < STEPS / 3 ? ['audit', 'search-index'] : ['audit']
    for (const queue of groups) await invoke('event-wait', { topic, queue, timeout: 0, max: 10_000 })
  }

  return {
    /** Fills the last 24 hours with about this many messages, then sets the clock to now. */
    async fill(messages: number): Promise<void> {
      for (const queue of ['audit', 'search-index']) await invoke('event-subscribe', { topic, queue })
      const report = { skill: 'report', args: { text: 'report orders' } }
      await invoke('schedule-create', { ...report, name: 'stock count', every: '4h' })
      const weights = Array.from({ length: STEPS }, (_, step) => busyness(step / STEPS))
      const sum = weights.reduce((all, each) => all + each, 0)
      // The planned number is a fraction, which is rounded in each step.
      let planned = 0
      let sent = 0
      for (const [step, weight] of weights.entries()) {
        if (signal.aborted) return
        jumpTo(DAY - (DAY * step) / STEPS)
        planned += (messages * weight) / sum
        const count = Math.round(planned) - sent
        sent += count
        await send(count)
        await untilIdle(daemon, signal)
        await work(step)
        if (step % 3 === 0) await decide()
        parts.onProgress((step + 1) / STEPS)
      }
      jumpTo(0)
    },
    /** Sends a few messages at a time, until the signal aborts. */
    async keepSending(): Promise<void> {
      for (let step = 0; ; step += 1) {
        // Irregular intervals, as with people.
        await pause(150 + ((step * 700) % 3_300), signal)
        if (signal.aborted) return
        await send(step % 5 === 0 ? 3 : 1).catch(() => [])
        if (step % 20 === 0) await work(STEPS + step)
        if (step % 40 === 39) await decide()
      }
    },
  }
}

/** Waits until no work is running, so that no lease expires when the clock jumps. */
async function untilIdle({ store }: Daemon, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { dispatch, jobs } = await store.stats()
    const isBusy = jobs.some(({ queue, running, waiting }) => {
      return queue === 'dispatch' ? running > 0 : queue === 'outbox' && running + waiting > 0
    })
    if (dispatch.unpumped === 0 && !isBusy) return
    await pause(POLL_INTERVAL)
  }
}

/** The relative traffic at a point (0 to 1) of the last 24 hours: a quiet night, and two peaks. */
function busyness(part: number): number {
  const hill = (middle: number, width: number) => Math.exp(-(((part - middle) / width) ** 2))
  return 0.12 + hill(0.2, 0.12) + 0.7 * hill(0.75, 0.1) + hill(0.97, 0.08)
}
