import type { Daemon } from '../../daemon.ts'
import { pause } from '../../lib/pause.ts'
import type { createSend } from './senders.ts'
import type { createStory } from './story.ts'

const DAY = 86_400_000
/** Every ten minutes of the day something comes in. */
const STEPS = 144
/** How often (ms) it is looked whether all is done. */
const LOOK = 3
/** The newest requests for approval wait for whoever looks at the demo. */
const UNDECIDED = 6

/** The operator who decides, pulls and subscribes in the demo. */
const BY = { caller: { kind: 'cli', id: 'jonas@harbour', roles: ['operator'] } } as const
const topic = 'gateway-message'

/**
 * Makes `Date.now` of this process tell the time of a day ago; only the demo does that, which has the process to itself. So the store
 * dates what it accepts as always, by its clock, and yet a day is over in seconds. The function that it returns jumps to `ago` ms before
 * the real time, never back.
 */
export function turnBack() {
  const realTime = Date.now
  let behind = DAY
  Date.now = () => realTime() - behind
  return (ago: number) => {
    behind = Math.min(behind, ago)
  }
}

/** What happens in the shop of the demo: a day of it, and then more of it as time passes. */
export function createDay(parts: {
  daemon: Daemon
  jumpTo: ReturnType<typeof turnBack>
  story: ReturnType<typeof createStory>
  send: ReturnType<typeof createSend>
  /** Ends the day early. */
  signal: AbortSignal
  /** Called with how far the day is, 0 to 1. */
  onProgress(part: number): void
}) {
  const { daemon, jumpTo, story, signal } = parts
  const invoke = (name: string, args: object) => daemon.operator.invoke(name, args, BY)
  const send = (count: number) => Promise.all(story.batch(count).map(parts.send))

  /** A person decides what was asked, but for the newest. */
  const decide = async () => {
    const pending = Object(await invoke('approval-list', { status: 'pending', limit: 1000 }))
    const old = pending.slice(0, Math.max(0, pending.length - UNDECIDED))
    for (const [at, { id }] of old.entries()) {
      const approve = at % 5 > 0
      await invoke('approval-decide', {
        id,
        approve,
        ...(!approve && { reason: 'please ask for photos first' }),
      })
    }
  }

  /** Workers take jobs, and one of the two groups that read along does not keep up. */
  const work = async (step: number) => {
    if (step % 2 === 0) await invoke('gateway-receive', { gateway: 'jobs', timeout: 0 })
    for (const queue of step < STEPS / 3 ? ['audit', 'search-index'] : ['audit'])
      await invoke('event-wait', { topic, queue, timeout: 0, max: 10_000 })
  }

  return {
    /** About so many messages in the last 24 hours; the clock tells the real time afterwards. */
    async fill(messages: number): Promise<void> {
      for (const queue of ['audit', 'search-index']) await invoke('event-subscribe', { topic, queue })
      const report = { skill: 'report', args: { text: 'report orders' } }
      await invoke('schedule-create', { ...report, name: 'stock count', every: '4h' })
      const weights = Array.from({ length: STEPS }, (_, step) => busyness(step / STEPS))
      const sum = weights.reduce((all, each) => all + each, 0)
      let [planned, sent] = [0, 0]
      for (const [step, weight] of weights.entries()) {
        if (signal.aborted) return
        jumpTo(DAY - (DAY * step) / STEPS)
        planned += (messages * weight) / sum
        const count = Math.round(planned) - sent
        sent += count
        await send(count)
        await settled(daemon, signal)
        await work(step)
        if (step % 3 === 0) await decide()
        parts.onProgress((step + 1) / STEPS)
      }
      jumpTo(0)
    },
    /** Sends a little, until the signal aborts. */
    async goOn(): Promise<void> {
      for (let step = 0; ; step += 1) {
        // As people come: sometimes some at once, sometimes nobody for seconds.
        await pause(150 + ((step * 700) % 3_300), signal)
        if (signal.aborted) return
        await send(step % 5 === 0 ? 3 : 1).catch(() => [])
        if (step % 20 === 0) await work(STEPS + step)
        if (step % 40 === 39) await decide()
      }
    },
  }
}

/** Waits until nothing runs: the clock may jump then, as no lease can run out under running work. */
async function settled({ store }: Daemon, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { dispatch, jobs } = await store.stats()
    const isBusy = jobs.some(({ queue, running, waiting }) => {
      return queue === 'dispatch' ? running > 0 : queue === 'outbox' && running + waiting > 0
    })
    if (dispatch.unpumped === 0 && !isBusy) return
    await pause(LOOK)
  }
}

/** How much comes in at a part (0 to 1) of the 24 hours until now: a quiet night, and two busy times. */
function busyness(part: number): number {
  const hill = (middle: number, width: number) => Math.exp(-(((part - middle) / width) ** 2))
  return 0.12 + hill(0.2, 0.12) + 0.7 * hill(0.75, 0.1) + hill(0.97, 0.08)
}
