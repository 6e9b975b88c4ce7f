import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryBackend } from '../../../src/runtime/state/backends.ts'
import { createCursorStore } from '../../../transports/email/mailbox/cursor.ts'

test('a cursor keeps the fields that a newer version has stored, for the same UIDVALIDITY', async () => {
  const kv = createMemoryBackend(Date.now, new Map())
  const stored = {
    ...{ uidValidity: '1', uid: 5, until: 0, newest: 9, floor: 0, token: 1, batch: 7 },
    aside: [
      { uid: 3, since: 1, tries: 2 },
      { uid: 4, since: 1, tries: 4 },
    ],
  }
  await kv.set('email/support/cursor/INBOX', stored)
  const { load, save } = createCursorStore(kv, 'support', 'INBOX', 2)
  const read = async () => (await kv.get('email/support/cursor/INBOX'))?.value
  const cursor = await load()
  assert.ok(cursor)
  await save({ ...cursor, uid: 6, aside: [{ uid: 4, since: 1 }, ...cursor.aside.slice(2)] })
  await save({
    ...cursor,
    uid: 7,
    aside: [
      { uid: 4, since: 1 },
      { uid: 6, since: 2 },
    ],
  })
  const aside = [
    { uid: 4, since: 1, tries: 4 },
    { uid: 6, since: 2 },
  ]
  assert.deepEqual(await read(), { ...stored, uid: 7, token: 2, aside })
  await save({ ...cursor, uidValidity: '2', uid: 0, aside: [] })
  const { batch: _, ...known } = stored
  assert.deepEqual(await read(), { ...known, uidValidity: '2', uid: 0, token: 2, aside: [] })
})
