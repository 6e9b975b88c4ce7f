import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Approval } from '../../src/core/approval.ts'
import type { DeadLetter } from '../../src/core/store.ts'
import { messageFilter } from '../../src/engine/operations/messages.ts'
import { createOverviewChanges, type OverviewDeps } from '../../src/features/live/overview-changes.ts'
import { createReaders } from '../../src/features/live/readers.ts'

const letter = (id: string, at: number): DeadLetter => ({
  id,
  at,
  lane: 'lane',
  queue: 'dispatch',
  group: 'route',
  reason: 'attempts',
  data: {},
  errors: [],
})

/** The changes as one reader gets them: `sent` has the ids of approvals and dead letters. */
function make(deps: Pick<OverviewDeps, 'approvals' | 'approval'>) {
  const letters: DeadLetter[] = []
  const sent: string[] = []
  const readers = createReaders(() => undefined)
  const changes = createOverviewChanges(
    {
      ...deps,
      store: {
        jobs: {
          deadLetters: { list: async ({ limit }) => ({ items: letters.slice(0, limit), more: false }) },
        },
      },
      history: { every: 5_000, points: () => [] },
      overview: async () => ({ roads: [] }),
      troubles: async () => [],
      now: Date.now,
    },
    readers,
  )
  readers.add({
    filter: messageFilter.parse({}),
    fits: undefined,
    wants: () => true,
    send: (_, data) => void sent.push(Object(data).id),
    missed: () => {},
    after: undefined,
  })
  return { letters, sent, changes }
}

const noApprovals = { approvals: async () => [], approval: async () => undefined }

test('readers get each new dead letter once, also with the time of a known one or an earlier one', async () => {
  const { letters, sent, changes } = make(noApprovals)
  letters.push(letter('old', 1_000))
  await changes.start()
  letters.unshift(letter('same', 1_000))
  await changes.sendDeadLetters()
  letters.push(letter('slow-clock', 900))
  await changes.sendDeadLetters()
  await changes.sendDeadLetters()
  assert.deepEqual(sent, ['same', 'slow-clock'])
})

test('readers do not get an old dead letter that is among the newest since others were removed', async () => {
  const { letters, sent, changes } = make(noApprovals)
  letters.push(...Array.from({ length: 25 }, (_, index) => letter(`letter-${index}`, 1_000 - index)))
  await changes.start()
  letters.splice(0, 5)
  await changes.sendDeadLetters()
  assert.deepEqual(sent, [])
})

test('readers hear of an ended approval, also if reading it fails once', async () => {
  const approval = (id: string): Approval => ({
    id,
    key: id,
    skill: 'refund',
    args: {},
    title: 'Refund',
    by: 'ada',
    approvers: [],
    timeout: 1_000,
    onTimeout: 'deny',
    trace: '',
    status: 'pending',
    requestedAt: 0,
    expiresAt: 1_000,
  })
  let pending = [approval('first'), approval('second')]
  let isAway = true
  const { sent, changes } = make({
    approvals: async () => pending,
    approval: async (id) => {
      if (isAway) throw new Error('the store is away')
      return { ...approval(id), status: 'denied' }
    },
  })
  await changes.start()
  pending = []
  await assert.rejects(changes.sendApprovals())
  isAway = false
  await changes.sendApprovals()
  await changes.sendApprovals()
  assert.deepEqual(sent, ['first', 'second'])
})
