import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { DocumentBackend } from '../../src/state/documents/backend.ts'
import { createStateManager } from '../../src/state/documents/manager.ts'
import type { Change } from '../../src/state/documents/spec.ts'
import type { EventLimits } from '../../src/state/documents/store-backend.ts'
import { notes } from './manager.contract.ts'

const LIMITS: EventLimits = { every: 10, kept: 30 }

/** What back ends promise that keep their event logs in a store. `start` gives a back end with these limits. */
export function describeLogLimits(
  kind: string,
  start: (t: TestContext, limits: EventLimits) => Promise<() => DocumentBackend>,
): void {
  describe(`the event log of a document on ${kind}`, () => {
    for (const together of [1, 7]) {
      test(`keeps the newest events and a whole document before them, ${together} written at once`, async (t) => {
        const open = await start(t, LIMITS)
        const manager = createStateManager({ documents: [notes], backend: open() })
        t.after(() => manager.close())
        const document = manager.document(notes)
        const count = () =>
          document.update((draft) => {
            draft.count += 1
          })
        while ((await document.load()).document.count < 140)
          await Promise.all(Array.from({ length: together }, count))
        const { document: now, revision } = await document.load()

        const kept: Change[] = []
        for await (const change of manager.history('notes')) kept.push(change)
        // The oldest whole document may be ten events further back, and a commit of seven stays whole.
        assert.ok(kept.length <= LIMITS.kept + LIMITS.every + 2 * together, `${kept.length} are kept`)
        assert.ok(kept.length >= LIMITS.kept, `${kept.length} are kept`)
        assert.equal(kept.at(-1)?.seq, revision)
        const begin = kept.findIndex((change) => change.document)
        assert.ok(
          begin >= 0 && begin < LIMITS.every + together,
          `the first whole document is number ${begin}`,
        )
        for (const { seq } of kept.slice(begin)) {
          const then = await manager.replay('notes', { revision: seq })
          assert.deepEqual(
            [then?.revision, then?.document.count],
            [seq, Number(now.count) - (revision - seq)],
          )
        }
      })
    }
  })
}
