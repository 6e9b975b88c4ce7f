import type { NewMessage } from '../../src/core/message.ts'
import type { Route } from '../../src/core/route.ts'
import { type Call, createSendCounter } from '../../src/core/skill.ts'
import { createRouter } from '../../src/gateway/router.ts'

/** A call of which only what matters to a test is given. */
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

/** A route to the skill `work` that takes everything of the gateway `demo`. */
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

export function routing(routes: readonly Route[]) {
  return { routes, router: createRouter(routes) }
}
