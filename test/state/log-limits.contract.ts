import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { DocumentBackend } from '../../src/state/backend.ts'
import type { Change } from '../../src/state/document.ts'
import type { LogLimits } from '../../src/state/log-limits.ts'
import { createStateManager } from '../../src/state/manager.ts'
import { notes } from './manager.contract.ts'

const LIMITS: LogLimits = { every: 10, kept: 30 }

/** What back ends promise that keep their event logs in a store. `start` gives a back end with these limits. */
export function describeLogLimits(
  kind: string,
  start: (t: TestContext, limits: LogLimits) => Promise<() => DocumentBackend>,
): void {
  describe(`the event log of a document on ${kind}`, () => {
    for (const together of [1, 7]) {
      test(`keeps the newest events and a whole document before them, ${together} written at once`, async (t) => {
        const open = await start(t, LIMITS)
        const writing = createStateManager({ documents: [notes], backend: open() })
        const manager = createStateManager({ documents: [notes], backend: open() })
        t.after(() => manager.close())
        const document = writing.document(notes)
        const count = () =>
          document.update((draft) => {
            draft.count += 1
          })
        while ((await document.load()).document.count < 140)
          await Promise.all(Array.from({ length: together }, count))
        const { document: now, revision } = await document.load()

        // Resolves when the oldest events are gone.
        await writing.close()
        const kept: Change[] = []
        for await (const change of manager.history('notes')) kept.push(change)
        // The oldest whole document may be ten events further back, and a commit of seven stays whole.
        assert.ok(kept.length <= LIMITS.kept + LIMITS.every + 2 * together, `${kept.length} are kept`)
        assert.ok(kept.length >= LIMITS.kept, `${kept.length} are kept`)
        assert.ok(kept[0]?.document, 'the oldest has the whole document')
        assert.equal(kept.at(-1)?.seq, revision)
        for (const { seq } of kept) {
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
