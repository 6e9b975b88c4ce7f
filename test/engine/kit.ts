import type { TestContext } from 'node:test'
import { type Call, createSendCounter } from '../../src/core/call.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Route } from '../../src/core/route.ts'
import type { Store } from '../../src/core/store.ts'
import type { Worker } from '../../src/engine/worker.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'

/** A call with defaults for everything that the test does not set. */
export function callOf(parts: Partial<Call> = {}): Call {
  return {
    rootId: 'root-1',
    trace: 'a'.repeat(32),
    caller: { kind: 'route' },
    sends: createSendCounter(),
    skill: 'test',
    depth: 0,
    signal: new AbortController().signal,
    ...parts,
  }
}

export function newMessage(parts: Partial<NewMessage> = {}): NewMessage {
  return {
    gateway: 'demo',
    transport: 'webhook',
    conversation: 'c1',
    from: { id: 'alice' },
    text: 'hello',
    data: {},
    ...parts,
  }
}

/** A route that takes all messages of the gateway `demo` to the skill `work`. */
export function routeOf(parts: Partial<Route> = {}): Route {
  return {
    name: 'all',
    match: { gateway: ['demo'] },
    skill: 'work',
    retry: { attempts: 3, backoff: 'fixed', delay: 4, maxDelay: 4 },
    timeout: 5000,
    concurrency: 10,
    reply: 'auto',
    ...parts,
  }
}

/** The options that every worker needs. */
export function partsOf(store: Store) {
  return { store, concurrency: 10, log: createMemoryLog(), now: Date.now }
}

/** Starts a worker, and stops it at the end of the test. */
export function begin<Part extends Pick<Worker, 'start' | 'stop'>>(t: TestContext, part: Part): Part {
  part.start()
  cleanup(t, () => part.stop(0))
  return part
}

/** The store with some methods for jobs replaced. */
export function withJobs(store: Store, jobs: Partial<Store['jobs']>): Store {
  return { ...store, jobs: { ...store.jobs, ...jobs } }
}

/** Waits until the history of a message contains a note. */
export function untilNoted(store: Store, id: string, what: string) {
  const find = async () => (await store.journal.history(id)).find((note) => note.what === what)
  return until(find, `${what} of ${id}`)
}

/** Waits until a queue is empty. */
export function untilEmpty(store: Store, queue: string) {
  const isEmpty = async () => {
    const jobs = (await store.stats()).jobs.find((each) => each.queue === queue)
    return !jobs || jobs.waiting + jobs.running === 0
  }
  return until(isEmpty, `an empty ${queue}`)
}

/** The other dependencies of `createMessages` and `createConversations`. */
export const MESSAGE_DEPS = {
  logged: () => [],
  pushed: async () => [],
  attempts: { of: () => undefined },
  holding: { pausesOf: () => [], notesOf: () => [], skillOf: () => undefined },
  match: () => undefined,
  traceUrl: () => undefined,
  isPulled: async () => true,
  answerable: () => ['support'],
  unanswerable: () => undefined,
  unreachable: () => undefined,
  isOneOff: () => false,
  holdOf: () => undefined,
  now: Date.now,
}
