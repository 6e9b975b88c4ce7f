import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AuditEntry } from '../../src/core/audit.ts'
import { operationsOf } from '../../src/daemon/built-in-skills.ts'
import { handOverClick } from '../../src/features/pauses/click.ts'
import { createPauses } from '../../src/features/pauses/pauses.ts'
import { createPauseRecords, HANDOVER_CLICK } from '../../src/features/pauses/records.ts'
import { createPauseService } from '../../src/features/pauses/service.ts'
import { callOf } from '../engine/kit.ts'
import { startManager } from '../runtime/support/manager.ts'
import { messageOf } from '../runtime/support/message.ts'
import { servicesWith } from '../runtime/support/services.ts'
import { openStore } from '../runtime/support/store.ts'
import { silent } from './kit.ts'

const CONVERSATION = 'c1'
const ADA = 'team:ADA'

/** The skill for clicks. Writing the first audit entry fails, which interrupts the attempt. */
async function openClicks(t: TestContext) {
  const store = await openStore(t)
  const now = Date.now
  const queues = { dispatch: 'dispatch', runs: ['schedules'] }
  const pauses = createPauses({ store, queues, routes: () => [], log: silent, now })
  const message = messageOf({ gateway: 'team', conversation: CONVERSATION })
  const service = createPauseService({
    pauses,
    journal: {
      ...store.journal,
      search: async () => ({ found: [{ message, outcome: 'done' }], more: false }),
    },
    router: { routes: () => [] },
    listedRoutes: () => [],
    gatewayNames: () => ['team'],
    permitPause: async () => {},
    now,
  })
  const recorded: string[] = []
  let attempts = 0
  const skill = handOverClick({
    gateways: {
      spec: () => ({
        name: 'team',
        transport: 'slack',
        open: false,
        options: { handover: { by: [ADA, 'team:BOB'], drop: false } },
      }),
    },
    pauses: createPauseRecords(store.kv),
    async record({ action, outcome }: Omit<AuditEntry, 'at'>) {
      attempts++
      if (attempts === 1) throw new Error('the daemon was killed')
      recorded.push(`${action} ${outcome}`)
    },
  })
  const pauseList = async () => pauses.view.list()
  const operation = operationsOf({
    pauses: { ...service, 'pause-list': pauseList, 'run-cancel': () => assert.fail('nothing runs') },
  })
  const { invoke } = await startManager(t, { skills: [skill], services: servicesWith({ operation }) })
  const click = (action: 'take' | 'back', id = ADA) => {
    const data = { handover: { conversation: CONVERSATION, action } }
    const clicked = messageOf({ gateway: 'team', receivedAt: now(), data })
    return () => invoke(HANDOVER_CLICK, {}, { message: clicked, caller: { kind: 'route', id } })
  }
  const pause = () =>
    service['conversation-pause']({ conversation: CONVERSATION, gateway: 'team', drop: false }, callOf())
  return { click, recorded, pause }
}

test('a click to take over that is repeated after a crash has the same reply, and is in the audit log', async (t) => {
  const { click, recorded } = await openClicks(t)
  const take = click('take')
  await assert.rejects(take())
  assert.deepEqual(await take(), { text: '', data: { handover: { state: 'taken', by: ADA } } })
  assert.deepEqual(recorded, ['conversation-pause ok'])
})

test('a click to hand back that is repeated after a crash has the same reply, and is in the audit log', async (t) => {
  const { click, recorded, pause } = await openClicks(t)
  await pause()
  const handBack = click('back')
  await assert.rejects(handBack())
  assert.deepEqual(await handBack(), { text: '', data: { handover: { state: 'back', by: ADA } } })
  assert.deepEqual(recorded, ['conversation-resume ok'])
})

test('a click to hand back what another person has handed back is refused', async (t) => {
  const { click, recorded, pause } = await openClicks(t)
  await pause()
  const handBack = click('back')
  // Bob's attempt ends the pause, and is then interrupted.
  await assert.rejects(click('back', 'team:BOB')())
  assert.match(String(Object(await handBack()).text), /No one has taken over/)
  assert.deepEqual(recorded, [])
})
