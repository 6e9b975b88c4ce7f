import type { TestContext } from 'node:test'
import type { Json } from '../../src/core/json.ts'
import type { Store } from '../../src/core/store.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createReplayEvents } from '../../src/engine/replay-events.ts'
import { createPush } from '../../src/features/push/push.ts'
import { type PushSubscription, pushSchema } from '../../src/features/push/schema.ts'
import { withoutSecrets } from '../../src/lib/secrets.ts'
import { callOf } from '../engine/kit.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'

export const SECRET: string = `whsec_${Buffer.from('a secret of 24 bytes and more').toString('base64')}`

/** The subscription `crm` of the topic `orders`, which gives up after four quick attempts. */
export function subscription(url: string, parts: object = {}): PushSubscription {
  return pushSchema.parse({
    name: 'crm',
    topic: 'orders',
    secret: SECRET,
    url,
    'allow-private': true,
    retry: { attempts: 4, delay: 5, 'max-delay': 10 },
    ...parts,
  })
}

/**
 * A daemon that pushes to the subscriptions of its file. `outcomes` has the outcome of each
 * attempt, and `hidden` the secrets that must not be logged.
 */
export async function startPush(
  t: TestContext,
  store: Store,
  subscriptions: PushSubscription[] = [],
  { owner = 'a', now = Date.now } = {},
) {
  const outcomes: string[] = []
  const hidden: string[] = []
  const log = createMemoryLog()
  const work = createLongWork({ store, owner, log, now })
  cleanup(t, () => work.stop())
  const replay = createReplayEvents({ store, work, now: Date.now })
  const push = createPush({
    store,
    replay,
    owner,
    log,
    now,
    pushed: (_name, outcome) => void outcomes.push(outcome),
    clean: (text, more = []) => withoutSecrets(text, more),
    known: () => ({ gateway: ['support'], transport: ['webhook'] }),
    hide: (secrets) => void hidden.push(...secrets),
  })
  await push.use(subscriptions)
  push.start()
  cleanup(t, () => push.stop(0))
  const show = async (name = 'crm') =>
    Object(await push.service.show({ name, limit: 50 }, callOf({ caller: { kind: 'cli' } })))
  return {
    ...push,
    work,
    replay,
    outcomes,
    hidden,
    show,
    /** Waits for a failed attempt, and returns why it failed. */
    failure: (name?: string): Promise<string> =>
      until(async () => (await show(name)).attempts[0]?.reason, 'a failed attempt'),
  }
}

/** Publishes an event of `orders`, and returns its id. */
export async function emit(store: Store, data: Json = {}, type = 'paid'): Promise<string> {
  const [id = ''] = await store.topics.publish('orders', [{ type, source: 'shop', data }])
  return id
}
